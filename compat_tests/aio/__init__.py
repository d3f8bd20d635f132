"""What aiokafka does against the broker."""
