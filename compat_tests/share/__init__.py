"""Share groups: by hand against Kafka's error codes, and with every client that has a share consumer."""
