"""The records of streams groups. What Kafka's own tools make of them is shown in compat_tests."""

import pytest

from coordinators.group.streams.record_formats import (
    StreamsCurrentValue,
    StreamsEpochValue,
    StreamsMemberValue,
    UserEndpoint,
    decode_streams_current,
    decode_streams_epoch,
    decode_streams_member,
    decode_streams_target,
    decode_streams_target_epoch,
    encode_streams_current,
    encode_streams_epoch,
    encode_streams_member,
    encode_streams_target,
    encode_streams_target_epoch,
)
from coordinators.group.streams.tasks import HeldTasks, Tasks
from coordinators.record_fields import UnknownFormat

SOME = Tasks({"0": frozenset({1, 3})}, {"1": frozenset({0})}, {"2": frozenset({9})})


@pytest.mark.parametrize(
    "value",
    [
        StreamsEpochValue(7),
        StreamsEpochValue(7, -(2**63), 0, (("num.standby.replicas", "1"),)),
        StreamsEpochValue(2**31 - 1, 1, 5, (("a", ""), ("b", "c"))),
    ],
)
def test_an_epoch_comes_back(value: StreamsEpochValue) -> None:
    assert decode_streams_epoch(encode_streams_epoch(value)) == value


def test_an_epoch_is_written_as_kafka_does() -> None:
    written = encode_streams_epoch(StreamsEpochValue(7, 1, 0, (("a", "b"),)))
    assert written.hex() == "0000000000070000000000000001020004000000000106020261026200"


def test_an_epoch_without_configs_is_read() -> None:
    """As brokers before 4.2 wrote it."""
    value = bytes.fromhex("000000000007000000000000000100")
    assert decode_streams_epoch(value) == StreamsEpochValue(7, 1)
    null = bytes.fromhex("000000000007000000000000000101010100")
    assert decode_streams_epoch(null) == StreamsEpochValue(7, 1)


@pytest.mark.parametrize(
    "value",
    [
        StreamsMemberValue(),
        StreamsMemberValue("i", "r", "c", "/h", 300_000, 2, "p", UserEndpoint("host", 65_535), (("k", "v"),)),
    ],
)
def test_a_member_comes_back(value: StreamsMemberValue) -> None:
    assert decode_streams_member(encode_streams_member(value)) == value


def test_assignments_come_back() -> None:
    assert decode_streams_target_epoch(encode_streams_target_epoch(5)) == (5, 0)
    assert decode_streams_target_epoch(encode_streams_target_epoch(5, 12)) == (5, 12)
    assert decode_streams_target(encode_streams_target(SOME)) == SOME
    assigned = HeldTasks({"0": {1: 4, 3: 5}}, SOME.standby, SOME.warmup)
    current = StreamsCurrentValue(5, 4, 2, assigned, HeldTasks({"0": {0: 4}}))
    assert decode_streams_current(encode_streams_current(current)) == current


def test_tasks_without_epochs_are_read() -> None:
    """As brokers before 4.2 wrote them."""
    value = b"\0\0" + b"\0\0\0\1" + b"\0\0\0\0" + b"\1" + b"\x02\x020\x02\0\0\0\x04\0" + b"\x01" * 5 + b"\0"
    assert decode_streams_current(value) == StreamsCurrentValue(1, 0, 1, HeldTasks({"0": {4: 0}}), HeldTasks())


def test_a_version_from_the_future_is_not_guessed() -> None:
    with pytest.raises(UnknownFormat):
        decode_streams_epoch(b"\0\1" + b"\0" * 20)
