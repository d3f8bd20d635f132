"""What kcat does against the broker."""
