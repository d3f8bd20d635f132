"""Confluent's registry client and its serialisers against the broker's registry."""
