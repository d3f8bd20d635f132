"""Groups of the new protocol (KIP-848), in which the broker assigns."""
