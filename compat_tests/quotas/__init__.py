"""Quotas, as clients and Kafka's own tools see them."""
