"""Protobuf: read, printed, compared and decoded."""
