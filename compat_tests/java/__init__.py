"""What the command-line tools of Apache Kafka do against the broker."""
