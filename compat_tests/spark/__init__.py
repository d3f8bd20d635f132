"""Spark's Kafka source and sink, and the pipelines built on them, against a broker."""
