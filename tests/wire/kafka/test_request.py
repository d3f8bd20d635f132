"""What a handler is given: who asks, and by which of our addresses he came."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from wire.kafka.messages.metadata import MetadataRequest


@trio_test
async def test_clients_of_a_wildcard_listener_are_told_the_address_they_came_by(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"listeners": "PLAINTEXT://0.0.0.0:0", "listener.allow.anonymous": True}) as door:
        (broker,) = (await (await door.connect()).ask(MetadataRequest(topics=[]))).brokers
        assert broker.host == "127.0.0.1"
        assert door.broker.kafka_address.endswith(f":{broker.port}")


@trio_test
async def test_clients_are_told_the_advertised_address(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"advertised.listeners": "PLAINTEXT://broker.example:1234"}) as door:
        (broker,) = (await (await door.connect()).ask(MetadataRequest(topics=[]))).brokers
        assert (broker.host, broker.port) == ("broker.example", 1234)
