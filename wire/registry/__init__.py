"""The registry's door: schemas over HTTP, by the API of Confluent's Schema Registry: its clients use it unchanged.

It stands at a port of its own (`registry.port`) and, with the operations door, under `/schemas` there. As of that door,
nothing of it is loaded before the first caller comes.
"""
