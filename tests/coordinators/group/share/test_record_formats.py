"""The records of share groups, byte by byte as Kafka 4.3 writes them."""

import pytest

from coordinators.group.consumer.record_formats import encode_target, encode_target_epoch, group_key
from coordinators.group.share.record_formats import (
    CURRENT_KEY,
    EPOCH_KEY,
    MEMBER_KEY,
    STATES_KEY,
    TARGET_EPOCH_KEY,
    TARGET_KEY,
    ShareCurrent,
    ShareEpoch,
    ShareSubscription,
    StateTopic,
    StateTopics,
    current_record,
    decode_current,
    decode_epoch,
    decode_states,
    decode_subscription,
    encode_current,
    encode_epoch,
    encode_states,
    encode_subscription,
    epoch_record,
    states_record,
    subscription_record,
    target_epoch_record,
    target_record,
)
from coordinators.record_fields import UnknownFormat

T = bytes(range(16))
ID = T.hex()


def test_keys_are_kafkas() -> None:
    assert subscription_record("g", "m", None).key.hex() == "000a00016700016d"
    assert epoch_record("g", None).key.hex() == "000b000167"
    assert target_epoch_record("g", None).key.hex() == "000c000167"
    assert target_record("g", "m", None).key.hex() == "000d00016700016d"
    assert current_record("g", "m", None).key.hex() == "000e00016700016d"
    assert states_record("g", None).key.hex() == "000f000167"


def test_a_subscription_is_kafkas() -> None:
    whole = ShareSubscription("r", "c", "/h", ("t", "u"))
    assert encode_subscription(whole).hex() == "000002720263032f68030274027500"
    assert decode_subscription(encode_subscription(whole)) == whole
    bare = ShareSubscription(None, "c", "/h", ())
    assert encode_subscription(bare).hex() == "0000000263032f680100"
    assert decode_subscription(encode_subscription(bare)) == bare


def test_epochs_are_kafkas() -> None:
    epoch = ShareEpoch(7, -2)
    assert encode_epoch(epoch).hex() == "000000000007fffffffffffffffe00"
    assert decode_epoch(encode_epoch(epoch)) == epoch
    assert encode_target_epoch(7, 9).hex() == "0000000000070100080000000000000009"
    assert encode_target_epoch(7).hex() == "00000000000700"


def test_assignments_are_kafkas() -> None:
    partitions = {T: frozenset({0, 2})}
    assert encode_target(partitions).hex() == f"000002{ID}0300000000000000020000"
    current = ShareCurrent(7, 6, partitions)
    assert encode_current(current).hex() == f"00000000000700000006010 2{ID}0300000000000000020000".replace(" ", "")
    assert decode_current(encode_current(current)) == current


def test_where_a_group_has_a_state_is_kafkas() -> None:
    states = StateTopics({T: StateTopic("t", frozenset({0, 2}))}, {T: "u"})
    assert encode_states(states).hex() == f"00000102{ID}027403000000000000000200 02{ID}02750000".replace(" ", "")
    assert decode_states(encode_states(states)) == states
    beginning = StateTopics({}, {}, {T: StateTopic("t", frozenset({1}))})
    assert decode_states(encode_states(beginning)) == beginning


def test_a_version_that_is_not_known_is_refused() -> None:
    for decode in (decode_subscription, decode_epoch, decode_current, decode_states):
        with pytest.raises(UnknownFormat):
            decode(b"\x00\x01" + bytes(40))


def test_each_kind_has_a_number_of_its_own() -> None:
    kinds = (MEMBER_KEY, EPOCH_KEY, TARGET_EPOCH_KEY, TARGET_KEY, CURRENT_KEY, STATES_KEY)
    assert kinds == (10, 11, 12, 13, 14, 15)
    assert group_key(15, "g") == states_record("g", None).key
