"""Who goes where."""

from confluent_kafka import Producer

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker
from tools.cli.partitioners import Partitioner, chooser

EVERYONE = [0, 1, 2, 3]
KEYS = [f"key-{number}" for number in range(12)]


def test_turns_and_chance() -> None:
    in_turn = chooser(Partitioner.ROUND_ROBIN)
    assert [in_turn(b"same", EVERYONE, EVERYONE) for _ in range(5)] == [0, 1, 2, 3, 0]
    by_chance = chooser(Partitioner.RANDOM)
    assert {by_chance(b"same", EVERYONE, EVERYONE) for _ in range(500)} == set(EVERYONE)


def test_without_a_key_a_record_goes_anywhere_that_has_a_leader() -> None:
    for kind in Partitioner:
        assert chooser(kind)(None, EVERYONE, [3]) == 3


def test_keys_go_where_librdkafka_puts_them(tidegate: Tidegate, broker: RunningBroker) -> None:
    for partitioner, named in (("crc32", "consistent_random"), ("key", "murmur2_random")):
        topic = f"partitioners-{partitioner}"
        tidegate("topic", "create", topic, "-p", "4")
        producer = Producer({"bootstrap.servers": broker.bootstrap, "partitioner": named})
        for key in KEYS:
            producer.produce(topic, b"theirs", key)
        assert producer.flush(60) == 0
        lines = "".join(f"{key}:ours\n" for key in KEYS)
        assert tidegate("produce", topic, "--partitioner", partitioner, "-K", ":", stdin=lines).code == 0
        places = {}
        for each in tidegate("consume", topic, "-e", "-f", r"%k %p\n").out.splitlines():
            key, place = each.split()
            places.setdefault(key, set()).add(place)
        assert sorted(places) == sorted(KEYS)
        assert {key: len(found) for key, found in places.items()} == dict.fromkeys(KEYS, 1)
