"""A Kafka client inside the broker, by which the other doors (HTTP, gRPC, text) reach topics, records and groups.

A door asks in the name of its caller, with the messages of `wire/kafka/messages/`. Whatever a Kafka client would be
denied, charged for or told to wait for, its caller is too: a door has no checks of its own. What another node leads or
coordinates is asked of that node. Why so: docs/adr/0046.
"""
