"""What kafka-python does against the broker."""
