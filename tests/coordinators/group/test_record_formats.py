"""The records of the offsets topic, against bytes that Apache Kafka 4.3 wrote and in every older version."""

import struct

import pytest

from coordinators.group.record_formats import (
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    decode_group,
    decode_group_key,
    decode_offset,
    decode_offset_key,
    encode_group,
    encode_group_key,
    encode_offset,
    encode_offset_key,
    group_record,
    key_version,
    offset_record,
)
from coordinators.record_fields import UnknownFormat

TOPIC_ID = bytes.fromhex("8042734c21e8480c901031073b173a9d")
# Taken from a Kafka's own topic.
KAFKA_OFFSET = (
    b"\x00\x04\x00\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff\x01\x00\x00\x01\xa1\xe2o\xd7m\x01\x00\x10" + TOPIC_ID
)
KAFKA_EXPIRING = b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x01\xa1\xe2o\xd7\xb2\x00\x00\x01\xa1\xe2q^R"
KAFKA_EMPTY_GROUP = (
    b"\x00\x03\x00\x08consumer\x00\x00\x00\x02\xff\xff\xff\xff\x00\x00\x01\xa1\xe2o\xd7\xc1\x00\x00\x00\x00"
)
KAFKA_GROUP = (
    b"\x00\x03\x00\x08consumer\x00\x00\x00\x01\x00\x05range\x00+compat-978008c2-fc17-46ee-9dc0-7c33739669dd"
    b"\x00\x00\x01\xa1\xe2o\xd7L\x00\x00\x00\x01\x00+compat-978008c2-fc17-46ee-9dc0-7c33739669dd\xff\xff\x00\x06compat"
    b"\x00\n/127.0.0.1\x00\x00u0\x00\x00u0\x00\x00\x00\r\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff"
    b"\x00\x00\x00\x04mine"
)
MEMBER_ID = "compat-978008c2-fc17-46ee-9dc0-7c33739669dd"
MEMBER = MemberValue(
    MEMBER_ID, None, "compat", "/127.0.0.1", 30_000, 30_000, b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff", b"mine"
)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (KAFKA_OFFSET, OffsetValue(3, -1, "", 1795000981357, topic_id=TOPIC_ID)),
        (KAFKA_EXPIRING, OffsetValue(4, -1, "", 1795000981426, 1795001081426)),
    ],
    ids=["plain", "expiring"],
)
def test_an_offset_is_written_and_read_as_kafka_does(raw: bytes, value: OffsetValue) -> None:
    value = value._replace(commit_timestamp_ms=struct.unpack_from(">q", raw, 15 if raw[1] == 4 else 12)[0])
    if raw[1] == 1:
        value = value._replace(expire_timestamp_ms=struct.unpack_from(">q", raw, 20)[0])
    assert decode_offset(raw) == value
    assert encode_offset(value) == raw


@pytest.mark.parametrize(("raw", "members"), [(KAFKA_GROUP, (MEMBER,)), (KAFKA_EMPTY_GROUP, ())], ids=["full", "empty"])
def test_a_group_is_written_and_read_as_kafka_does(raw: bytes, members: tuple[MemberValue, ...]) -> None:
    value = decode_group(raw)
    assert (value.protocol_type, value.members) == ("consumer", members)
    assert encode_group(value) == raw


@pytest.mark.parametrize("metadata", ["", "note", "ünïcode", "x" * 200])
@pytest.mark.parametrize("topic_id", [bytes(16), TOPIC_ID])
def test_what_is_committed_with_an_offset_is_kept(metadata: str, topic_id: bytes) -> None:
    value = OffsetValue(2**40, 7, metadata, 5, topic_id=topic_id)
    assert decode_offset(encode_offset(value)) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"\0\0" + struct.pack(">q", 1) + b"\0\1m" + struct.pack(">q", 9), OffsetValue(1, -1, "m", 9)),
        (b"\0\2" + struct.pack(">q", 1) + b"\0\1m" + struct.pack(">q", 9), OffsetValue(1, -1, "m", 9)),
        (b"\0\3" + struct.pack(">qi", 1, 5) + b"\0\1m" + struct.pack(">q", 9), OffsetValue(1, 5, "m", 9)),
    ],
    ids=["0", "2", "3"],
)
def test_an_offset_of_an_older_version_is_read(raw: bytes, value: OffsetValue) -> None:
    assert decode_offset(raw) == value


def _old_group(version: int) -> bytes:
    member = b"\0\1m" + (b"\0\1i" if version >= 3 else b"") + b"\0\1c\0\1h"
    member += (struct.pack(">i", 7) if version >= 1 else b"") + struct.pack(">i", 9) + b"\0\0\0\1s\0\0\0\1a"
    changed = struct.pack(">q", 3) if version >= 2 else b""
    return struct.pack(">h", version) + b"\0\1t" + struct.pack(">i", 4) + b"\0\1p\0\1l" + changed + b"\0\0\0\1" + member


@pytest.mark.parametrize("version", range(4))
def test_a_group_of_an_older_version_is_read(version: int) -> None:
    member = MemberValue("m", "i" if version >= 3 else None, "c", "h", 7 if version >= 1 else 9, 9, b"s", b"a")
    assert decode_group(_old_group(version)) == GroupValue("t", 4, "p", "l", 3 if version >= 2 else -1, (member,))


def test_a_group_of_the_flexible_version_is_read() -> None:
    member = b"\2m\2i\2c\2h" + struct.pack(">ii", 7, 9) + b"\2s\2a" + b"\1\5\2xx"
    raw = b"\0\4\2t" + struct.pack(">i", 4) + b"\2p\2l" + struct.pack(">q", 3) + b"\2" + member + b"\0"
    assert decode_group(raw) == GroupValue("t", 4, "p", "l", 3, (MemberValue("m", "i", "c", "h", 7, 9, b"s", b"a"),))


@pytest.mark.parametrize("decode", [decode_offset, decode_group])
def test_a_version_of_the_future_is_refused(decode: object) -> None:
    with pytest.raises(UnknownFormat):
        decode(b"\0\x63" + bytes(60))  # type: ignore[operator]


def test_keys_say_what_they_are_of() -> None:
    offset, group = encode_offset_key(OffsetKey("grüppe", "t", 7)), encode_group_key("g")
    assert (key_version(offset), decode_offset_key(offset)) == (1, OffsetKey("grüppe", "t", 7))
    assert (key_version(group), decode_group_key(group)) == (2, "g")


def test_a_record_without_a_value_is_a_tombstone() -> None:
    assert offset_record(OffsetKey("g", "t", 0), None).value is None
    assert group_record("g", None).value is None
