"""What confluent-kafka (librdkafka) does against the broker."""
