"""One journal for all partitions, by which a round of writes becomes durable at once."""
