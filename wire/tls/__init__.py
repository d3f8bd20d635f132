"""TLS under any door: the transport, a listener's certificate and whom it trusts, and the names in certificates."""
