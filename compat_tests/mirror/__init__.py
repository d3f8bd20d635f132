"""MirrorMaker 2 between Apache Kafka and Tidegate."""
