"""What the nodes of a cluster say to each other over Kafka's protocol, and how they know each other."""
