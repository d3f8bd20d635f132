"""Avro: read, printed, compared and decoded."""
