"""Records over HTTP beside Kafka's own clients: written by the one, read by the other."""
