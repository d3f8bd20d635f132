"""Groups of Kafka Streams applications (KIP-1071): the broker assigns tasks, and makes the topics that they need."""
