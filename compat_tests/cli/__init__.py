"""The command line `tidegate` as a client of any Kafka broker."""
