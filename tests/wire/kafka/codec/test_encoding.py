"""What handlers rely on when they answer: regions unread, null where a version has none, errors that name a field."""

from typing import Any

import pytest
from attrs import frozen

from wire.kafka.codec import EncodeError, response_decoder, response_encoder
from wire.kafka.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from wire.kafka.messages.join_group import JoinGroupResponse
from wire.kafka.messages.metadata import MetadataResponse, MetadataResponseTopic
from wire.kafka.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

VERSIONS = [4, 11, 12, 18]


@frozen
class FakeRegion:
    """A region that cannot be read, only sized."""

    size: int


def fetch_response(*records: Any) -> FetchResponse:
    partitions = [PartitionData(partition_index=index, records=each) for index, each in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


def filled(parts: list[Any]) -> bytes:
    return b"".join(part if isinstance(part, bytes) else b"r" * part.size for part in parts)


@pytest.mark.parametrize("version", VERSIONS)
def test_regions_are_spliced_in_unread(version: int) -> None:
    first, second = FakeRegion(3), FakeRegion(300)
    parts = response_encoder(1, version)(fetch_response(first, None, second, b"abc"))
    assert [part for part in parts if not isinstance(part, bytes)] == [first, second]
    expected = response_encoder(1, version)(fetch_response(b"rrr", None, b"r" * 300, b"abc"))
    assert [filled(parts)] == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [list, tuple])
def test_several_regions_are_one_records_field(version: int, kind: type) -> None:
    regions = [FakeRegion(5), FakeRegion(7)]
    parts = response_encoder(1, version)(fetch_response(kind(regions)))
    assert [part for part in parts if not isinstance(part, bytes)] == regions
    assert [filled(parts)] == response_encoder(1, version)(fetch_response(b"r" * 12))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("nothing", [[], (), FakeRegion(0), b"", memoryview(b"")])
def test_no_bytes_are_empty_records(version: int, nothing: Any) -> None:
    (encoded,) = response_encoder(1, version)(fetch_response(nothing))
    assert response_decoder(1, version)(encoded, 0).responses[0].partitions[0].records == b""


@pytest.mark.parametrize("version", VERSIONS)
def test_null_records_stay_null(version: int) -> None:
    (encoded,) = response_encoder(1, version)(fetch_response(None))
    assert response_decoder(1, version)(encoded, 0).responses[0].partitions[0].records is None


@pytest.mark.parametrize("size", [126, 127, 128, 16382, 16383, 16384, 2_097_150, 2_097_151, 2_097_152, 2**31 - 2])
def test_sizes_of_every_varint_length(size: int) -> None:
    parts = response_encoder(1, 12)(fetch_response(FakeRegion(size)))
    small = response_encoder(1, 12)(fetch_response(FakeRegion(1)))
    assert parts[1] == FakeRegion(size)
    assert isinstance(parts[0], bytes)
    assert isinstance(small[0], bytes)
    prefix = parts[0][len(small[0]) - 1 :]
    assert sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(prefix)) == size + 1


def test_a_null_that_a_version_cannot_say_is_empty() -> None:
    response = JoinGroupResponse(protocol_name=None)
    old = response_decoder(11, 6)(response_encoder(11, 6)(response)[0], 0)
    new = response_decoder(11, 7)(response_encoder(11, 7)(response)[0], 0)
    assert (old.protocol_name, new.protocol_name) == ("", None)


def test_produce_answers_the_current_leader_from_version_10() -> None:
    leader = PartitionProduceResponse(index=1, error_code=6, current_leader=LeaderIdAndEpoch(4, 9))
    response = ProduceResponse(
        responses=[TopicProduceResponse(name="t", partition_responses=[leader])],
        node_endpoints=[NodeEndpoint(node_id=4, host="h", port=9092)],
    )
    (encoded,) = response_encoder(0, 10)(response)
    assert encoded.endswith(
        bytes.fromhex("010009000000040000000900000000000001000d02") + bytes.fromhex("000000040268000023840000")
    )
    (before,) = response_encoder(0, 9)(response)
    assert before.endswith(bytes.fromhex("00000000000000"))


@pytest.mark.parametrize(
    ("response", "field"),
    [
        (MetadataResponse(controller_id=2**31), "controller_id"),
        (MetadataResponse(topics=[MetadataResponseTopic(name=b"bytes")]), r"topics.\[\].name"),  # type: ignore[arg-type]
        (MetadataResponse(topics=[MetadataResponseTopic(name="\ud800")]), r"topics.\[\].name"),
        (MetadataResponse(brokers=[None]), r"brokers.\[\]"),  # type: ignore[list-item]
    ],
)
def test_an_impossible_value_is_an_error_that_names_the_field(response: MetadataResponse, field: str) -> None:
    with pytest.raises(EncodeError, match=f"MetadataResponse v12: {field}"):
        response_encoder(3, 12)(response)
