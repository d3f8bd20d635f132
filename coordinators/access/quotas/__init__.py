"""How much who may: quotas by user, client id and address, as Kafka has them (KIP-13, 124, 546, 599, 612)."""
