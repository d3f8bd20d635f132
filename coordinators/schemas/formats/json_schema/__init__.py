"""JSON Schema: read, printed, compared, and payloads held against it."""
