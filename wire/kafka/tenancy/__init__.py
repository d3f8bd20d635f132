"""Tenants at the Kafka door: what their clients say and are told is translated where messages are read and written, so
that no handler knows of it, and connections without a tenant pay nothing."""
