"""The broker's spans in a client's own trace, as an OpenTelemetry collector sees them."""
