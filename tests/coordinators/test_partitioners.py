"""Partitioners put a key where real clients put it."""

import os
import warnings

import pytest
from aiokafka.partitioner import murmur2 as aiokafka_murmur2
from confluent_kafka import Message, Producer
from hypothesis import given
from hypothesis import strategies as st

from coordinators.partitioners import (
    PARTITIONERS,
    ManualPartitioner,
    RoundRobinPartitioner,
    absolute,
    fnv1a,
    murmur2,
    murmur3,
    positive,
)

with warnings.catch_warnings():
    # kafka-python reads its schemas by a function that the standard library has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.partitioner.default import murmur2 as kafka_python_murmur2

KEYS = [b"", b"a", b"user123", b"kafka", b"giberish123456789", "\u00e9".encode(), *(b"k%d" % n for n in range(40))]


@pytest.mark.parametrize(
    ("data", "signed"),
    [
        # The vectors of Kafka's own UtilsTest.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_the_java_clients(data: bytes, signed: int) -> None:
    assert murmur2(data) == signed % 2**32


@given(st.binary(max_size=70))
def test_murmur2_is_kafka_pythons_and_aiokafkas(data: bytes) -> None:
    assert murmur2(data) == kafka_python_murmur2(data) % 2**32 == aiokafka_murmur2(data) % 2**32


@pytest.mark.parametrize("name", ["murmur2", "fnv1a"])
def test_a_key_goes_where_librdkafka_puts_it(name: str) -> None:
    configuration = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "partitioner": name, "log_level": 0}
    producer = Producer(configuration)
    placed: dict[bytes, int] = {}

    def delivered(error: object, message: Message) -> None:
        assert error is None
        placed[message.key() or b""] = message.partition() or 0

    for key in KEYS:
        producer.produce("topic", key=key, value=b"", on_delivery=delivered)
    assert producer.flush(30) == 0
    partitioner, partition_count = PARTITIONERS[name](), 4
    assert placed == {key: partitioner.partition(key, partition_count) for key in KEYS}


def test_fnv1a_has_its_published_vectors() -> None:
    assert [fnv1a(data) for data in (b"", b"a", b"foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


def test_fnv1a_puts_user123_of_three_partitions_in_partition_one() -> None:
    assert PARTITIONERS["fnv1a"]().partition(b"user123", 3) == 1


def test_murmur3_has_its_published_vectors() -> None:
    assert [murmur3(data) for data in (b"", b"test", b"Hello, world!")] == [0, 0xBA6BD213, 0xC0363E43]


def test_a_hash_becomes_a_number_without_its_sign() -> None:
    assert [positive(0xFFFFFFFF), positive(5)] == [0x7FFFFFFF, 5]
    assert [absolute(0xFFFFFFFF), absolute(5), absolute(0x80000000)] == [1, 5, 2**31]


@pytest.mark.parametrize("name", ["murmur2", "murmur3", "fnv1a"])
def test_a_key_always_goes_to_the_same_partition(name: str) -> None:
    first, second = PARTITIONERS[name](), PARTITIONERS[name]()
    key = os.urandom(20)
    chosen = first.partition(key, 7)
    assert 0 <= chosen < 7
    assert second.partition(key, 7) == chosen


@pytest.mark.parametrize("name", PARTITIONERS)
def test_records_without_a_key_go_around(name: str) -> None:
    partitioner = PARTITIONERS[name]()
    assert [partitioner.partition(None, 3) for _ in range(5)] == [0, 1, 2, 0, 1]


def test_round_robin_does_not_look_at_the_key() -> None:
    partitioner = RoundRobinPartitioner()
    assert [partitioner.partition(b"key", 2) for _ in range(3)] == [0, 1, 0]


def test_a_partition_chosen_by_hand_must_exist() -> None:
    assert ManualPartitioner(2).partition(b"key", 3) == 2
    with pytest.raises(ValueError, match="partition 3 is not one of 3"):
        ManualPartitioner(3).partition(b"key", 3)
