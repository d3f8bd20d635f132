"""Real Kafka clients against a broker: Tidegate, or Apache Kafka as the reference. See README.md."""
