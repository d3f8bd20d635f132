"""The records of consumer groups. What Kafka's own tools make of them is shown in compat_tests."""

import pytest

from coordinators.group.consumer.record_formats import (
    ClassicMetadata,
    CurrentValue,
    EpochValue,
    RegexValue,
    SubscriptionValue,
    decode_current,
    decode_epoch,
    decode_group_key,
    decode_member_key,
    decode_regex,
    decode_subscription,
    decode_target,
    decode_target_epoch,
    encode_current,
    encode_epoch,
    encode_regex,
    encode_subscription,
    encode_target,
    encode_target_epoch,
    group_key,
)
from coordinators.record_fields import UnknownFormat

T = bytes(range(16))


def test_keys_name_the_group_and_its_member() -> None:
    assert group_key(3, "g") == b"\x00\x03\x00\x01g"
    assert decode_group_key(group_key(3, "g")) == "g"
    assert decode_member_key(group_key(8, "g", "m")) == ("g", "m")


@pytest.mark.parametrize("value", [EpochValue(7), EpochValue(7, -(2**63)), EpochValue(2**31 - 1, 1)])
def test_an_epoch_comes_back(value: EpochValue) -> None:
    assert decode_epoch(encode_epoch(value)) == value


def test_an_epoch_is_written_as_kafka_does() -> None:
    assert encode_epoch(EpochValue(7, 1)).hex() == "0000000000070100080000000000000001"


@pytest.mark.parametrize(
    "value",
    [
        SubscriptionValue(),
        SubscriptionValue("i", "r", "c", "/h", ("a", "b"), "x.*", 300_000, "range"),
        SubscriptionValue(classic=ClassicMetadata(10_000, (("range", b"\0\1"), ("sticky", b"")))),
    ],
)
def test_a_subscription_comes_back(value: SubscriptionValue) -> None:
    assert decode_subscription(encode_subscription(value)) == value


def test_assignments_come_back() -> None:
    assert decode_target_epoch(encode_target_epoch(5)) == decode_target_epoch(encode_target_epoch(5, 12)) == 5
    assert decode_target(encode_target({T: frozenset({2, 0})})) == {T: {0, 2}}
    current = CurrentValue(3, 2, 2, {T: {0: 1, 5: 3}}, {T: {7: 2}})
    assert decode_current(encode_current(current)) == current


def test_partitions_without_epochs_are_read() -> None:
    """As brokers before KIP-1251 wrote them."""
    value = b"\0\0" + b"\0\0\0\1" + b"\0\0\0\0" + b"\1" + b"\x02" + T + b"\x02\0\0\0\x04" + b"\0" + b"\x01" + b"\0"
    assert decode_current(value) == CurrentValue(1, 0, 1, {T: {4: 0}}, {})


def test_a_resolved_expression_comes_back() -> None:
    value = RegexValue(("a", "b"), 3, 1_700_000_000_000)
    assert decode_regex(encode_regex(value)) == value


def test_a_version_from_the_future_is_not_guessed() -> None:
    with pytest.raises(UnknownFormat):
        decode_epoch(b"\0\1" + b"\0" * 8)
