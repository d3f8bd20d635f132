"""Hostile bytes: whatever arrives is a message or a `WireError`, and nothing is allocated on a claim alone."""

import random
import re

import pytest

from tests.wire.kafka.codec.served import CASES, LATEST
from tools.fuzz.codec import damage, memory_bound, peak_memory, random_encoded, read_or_refuse
from wire.kafka.codec import WireError, request_decoder, request_encoder, response_decoder, response_encoder
from wire.kafka.codec.schema import Direction
from wire.kafka.messages.describe_producers import DescribeProducersRequest, TopicRequest
from wire.kafka.messages.fetch import FetchRequest, FetchResponse, PartitionData, ReplicaState
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from wire.kafka.request_bounds import BOUNDS, RequestBounds

HUGE_COMPACT_COUNT = bytes.fromhex("ffffffff0f")


def refusal(key: int, version: int, encoded: bytes) -> str:
    with pytest.raises(WireError) as caught:
        request_decoder(key, version)(encoded, 0)
    return str(caught.value)


@pytest.mark.parametrize(("key", "version", "direction"), CASES)
def test_a_message_cut_anywhere_is_refused(key: int, version: int, direction: Direction) -> None:
    encoded, decode = random_encoded(key, version, direction, random.Random(key * 100 + version))
    decode(encoded, 0)
    assert not any(read_or_refuse(decode, encoded[:size]) for size in range(len(encoded)))


@pytest.mark.parametrize(("key", "version", "direction"), CASES)
def test_bytes_after_a_request_are_ignored_and_after_a_response_refused(
    key: int, version: int, direction: Direction
) -> None:
    encoded, decode = random_encoded(key, version, direction, random.Random(key * 100 + version))
    if direction == "request":
        assert decode(encoded + b"\x00", 0) == decode(encoded, 0)
        return
    with pytest.raises(WireError, match="end of message: 1 bytes too many"):
        decode(encoded + b"\x00", 0)


@pytest.mark.parametrize(("key", "version", "direction"), CASES)
def test_damage_is_read_or_refused(key: int, version: int, direction: Direction) -> None:
    chance = random.Random(key * 100 + version)
    encoded, decode = random_encoded(key, version, direction, chance)
    for _ in range(40):
        read_or_refuse(decode, damage(encoded, chance))


@pytest.mark.parametrize(("key", "version", "direction"), LATEST)
def test_damage_takes_no_more_memory_than_its_size_allows(key: int, version: int, direction: Direction) -> None:
    chance = random.Random(key)
    encoded, decode = random_encoded(key, version, direction, chance)
    for _ in range(5):
        damaged = damage(encoded, chance)
        assert peak_memory(decode, damaged) <= memory_bound(len(damaged))


def test_a_huge_count_allocates_nothing() -> None:
    decode = request_decoder(3, 12)
    encoded = HUGE_COMPACT_COUNT + bytes(1000)
    assert peak_memory(decode, encoded) < 20_000
    assert refusal(3, 12, encoded) == (
        "MetadataRequest v12: topics: 4294967294 elements do not fit into the 1000 bytes that remain"
    )


@pytest.mark.parametrize(
    ("version", "encoded", "reason"),
    [
        (1, "7fffffff", "topics: 2147483647 elements do not fit into the 0 bytes that remain"),
        (1, "fffffffe", "topics: negative length -2"),
        (0, "ffffffff", "topics: may not be null"),
        (1, "00000001ffff", "topics.[].name: may not be null"),
        (1, "00000001fff0", "topics.[].name: negative length -16"),
        (1, "00000001000561", "topics.[].name: 5 bytes do not fit into the 1 bytes that remain"),
        (1, "000000010001ff", "topics.[].name: invalid UTF-8: invalid start byte"),
        (1, "0000", "topics: the message ends too early"),
        (9, "ffffffff7f", "topics: varint is longer than five bytes or exceeds 32 bits"),
        (9, "808080808001", "topics: varint is longer than five bytes or exceeds 32 bits"),
        (9, "020000", "topics.[].name: may not be null"),
        (9, "0000000001058080", "tags: the message ends too early"),
        (9, "00000000010564", "tags: tag 5 of 100 bytes does not fit into the 0 bytes that remain"),
        (9, "000000000205", "tags: 2 tagged fields do not fit into the 1 bytes that remain"),
        (9, "000000000205000500", "tags: tag 5 follows tag 5: tags must rise"),
        (9, "000000000205000400", "tags: tag 4 follows tag 5: tags must rise"),
        (9, "00000000ffffffff0f", "tags: more than 127 tagged fields"),
    ],
)
def test_the_refusal_names_the_field_and_the_reason(version: int, encoded: str, reason: str) -> None:
    assert refusal(3, version, bytes.fromhex(encoded)) == f"MetadataRequest v{version}: {reason}"


def test_unknown_tags_are_skipped() -> None:
    (encoded,) = request_encoder(3, 9)(MetadataRequest(topics=[MetadataRequestTopic(name="a")]))
    with_tags = encoded[:-1] + bytes.fromhex("020501aac80100")
    assert request_decoder(3, 9)(with_tags, 0) == request_decoder(3, 9)(encoded, 0)


@pytest.mark.parametrize("size", [11, 13, 14])
def test_a_known_tag_must_have_exactly_its_size(size: int) -> None:
    (encoded,) = request_encoder(1, 15)(FetchRequest(replica_state=ReplicaState(replica_id=3)))
    (tag,) = re.finditer(bytes.fromhex("01010d"), encoded)
    wrong = bytearray(encoded)
    wrong[tag.end() - 1] = size
    if size == 13:
        assert request_decoder(1, 15)(bytes(wrong), 0).replica_state == ReplicaState(replica_id=3)
    else:
        assert refusal(1, 15, bytes(wrong) + bytes(3)).startswith("FetchRequest v15: tags.replica_state: ")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_are_a_view_into_the_frame_whatever_holds_it(kind: type) -> None:
    request = ProduceRequest(
        acks=1, topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"abc")])]
    )
    (encoded,) = request_encoder(0, 9)(request)
    frame = bytearray(b"header" + encoded)
    read = request_decoder(0, 9)(frame if kind is bytearray else kind(frame), 6)
    assert read == request
    records = read.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    if kind is not bytes:
        frame[frame.index(b"abc")] = ord("x")
        assert records == b"xbc"


def test_fields_that_a_version_lacks_keep_their_defaults() -> None:
    (encoded,) = request_encoder(1, 4)(FetchRequest(session_id=7, rack_id="r", max_wait_ms=5))
    assert request_decoder(1, 4)(encoded, 0) == FetchRequest(max_wait_ms=5)


def test_an_absent_tagged_struct_is_none() -> None:
    response = FetchResponse()
    assert PartitionData().current_leader is None
    (encoded,) = response_encoder(1, 17)(response)
    assert response_decoder(1, 17)(encoded, 0).node_endpoints == []


def test_a_request_of_very_many_elements_is_refused() -> None:
    topics = [MetadataRequestTopic(name="")] * (BOUNDS.max_elements + 1)
    encoded = b"".join(request_encoder(3, 9)(MetadataRequest(topics=topics)))  # type: ignore[arg-type]
    assert "more than 50000 elements" in refusal(3, 9, encoded)


def few(key: int, version: int, message: object) -> str:
    """Why a broker that takes ten elements refuses the message."""
    (encoded,) = request_encoder(key, version)(message)
    try:
        request_decoder(key, version, RequestBounds(max_elements=10))(encoded, 0)
    except WireError as error:
        return str(error)
    return ""


def test_numbers_are_elements_too_and_all_arrays_count_together() -> None:
    def message(*counts: int) -> DescribeProducersRequest:
        return DescribeProducersRequest(topics=[TopicRequest("t", [0] * count) for count in counts])

    assert few(61, 0, message(9)) == ""
    assert few(61, 0, message(4, 4)) == ""
    assert "more than 10 elements" in few(61, 0, message(10))
    assert "more than 10 elements" in few(61, 0, message(4, 5))


def test_tags_are_elements_too() -> None:
    (encoded,) = request_encoder(3, 9)(MetadataRequest(topics=[]))
    for count, is_read in ((10, True), (11, False)):
        tags = b"".join(bytes((tag, 0)) for tag in range(count))
        tagged = encoded[:-1] + bytes((count,)) + tags
        if is_read:
            assert request_decoder(3, 9, RequestBounds(max_elements=10))(tagged, 0) == MetadataRequest(topics=[])
        else:
            with pytest.raises(WireError, match="more than 10 elements"):
                request_decoder(3, 9, RequestBounds(max_elements=10))(tagged, 0)


def test_a_produce_request_has_no_more_partitions_than_its_bytes_can_carry() -> None:
    topics = [TopicProduceData(name="t", partition_data=[PartitionProduceData(records=None)] * 3000)]
    (encoded,) = request_encoder(0, 9)(ProduceRequest(topic_data=topics))
    assert "more elements than so many bytes of records" in refusal(0, 9, encoded)
    topics = [TopicProduceData(name="t", partition_data=[PartitionProduceData(records=bytes(61))] * 3000)]
    (encoded,) = request_encoder(0, 9)(ProduceRequest(topic_data=topics))
    assert len(request_decoder(0, 9)(encoded, 0).topic_data[0].partition_data) == 3000


@pytest.mark.parametrize(("size", "is_read"), [(32_767, True), (32_768, False)])
def test_a_compact_string_is_no_longer_than_others_can_be_told(size: int, is_read: bool) -> None:
    (encoded,) = request_encoder(3, 9)(MetadataRequest(topics=[MetadataRequestTopic(name="n" * size)]))
    if is_read:
        assert len(request_decoder(3, 9)(encoded, 0).topics[0].name) == size
    else:
        assert "a string of 32768 bytes; 32767 is the most" in refusal(3, 9, encoded)
