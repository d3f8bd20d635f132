"""ApiVersions: the first thing that every client asks, in a version that the broker may not know."""

import struct

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from compat_tests.wire.connection import Closed, Wire, ask
from compat_tests.wire.requests import versions_of

UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42
API_VERSIONS = 18
# What Apache Kafka 4.3 serves of what needs neither groups nor transactions.
KAFKA_RANGES = {
    "Produce": (0, (0, 13)),
    "Fetch": (1, (4, 18)),
    "ListOffsets": (2, (1, 11)),
    "Metadata": (3, (0, 13)),
    "FindCoordinator": (10, (0, 6)),
    "ApiVersions": (18, (0, 4)),
    "CreateTopics": (19, (2, 7)),
    "DeleteTopics": (20, (1, 6)),
    "DeleteRecords": (21, (0, 2)),
    "InitProducerId": (22, (0, 5)),
    "OffsetForLeaderEpoch": (23, (2, 4)),
    "DescribeConfigs": (32, (1, 4)),
    "AlterConfigs": (33, (0, 2)),
    "DescribeLogDirs": (35, (1, 5)),
    "CreatePartitions": (37, (0, 3)),
    "IncrementalAlterConfigs": (44, (0, 1)),
    "AlterPartitionReassignments": (45, (0, 1)),
    "ListPartitionReassignments": (46, (0, 0)),
    "DescribeCluster": (60, (0, 2)),
    "DescribeProducers": (61, (0, 0)),
    "DescribeTopicPartitions": (75, (0, 0)),
}


@pytest.mark.parametrize("version", range(5))
def test_every_version_lists_the_same_apis(bootstrap: str, version: int) -> None:
    request = ApiVersionsRequest(version=version, client_software_name="compat", client_software_version="1.0")
    answer = ask(bootstrap, request)
    assert answer.error_code == 0
    assert {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys} == versions_of(bootstrap)


@pytest.mark.parametrize("name", KAFKA_RANGES)
def test_the_range_is_within_kafkas_and_begins_where_it_does(bootstrap: str, name: str) -> None:
    key, (least, most) = KAFKA_RANGES[name]
    ours = versions_of(bootstrap)[key]
    assert ours[0] == least
    assert least <= ours[1] <= most


@pytest.mark.parametrize("version", [5, 99, -1])
def test_an_unknown_version_is_told_in_a_body_of_version_0(bootstrap: str, version: int) -> None:
    with Wire(bootstrap) as wire:
        wire.send_frame(struct.pack(">hhih", API_VERSIONS, version, 77, -1) + b"\0")
        frame = wire.receive_frame()
        correlation, error, count = struct.unpack_from(">ihi", frame)
        assert (correlation, error, count) == (77, UNSUPPORTED_VERSION, 1)
        least, most = versions_of(bootstrap)[API_VERSIONS]
        assert struct.unpack(">hhh", frame[10:]) == (API_VERSIONS, least, most)
        # The connection lives: the client asks again in a version it was told.
        assert wire.ask(ApiVersionsRequest(version=0)).error_code == 0


@pytest.mark.parametrize("name", ["", "no spaces", "-dash"])
def test_a_client_name_that_is_not_one_is_an_invalid_request(bootstrap: str, name: str) -> None:
    with Wire(bootstrap) as wire:
        wire.send(ApiVersionsRequest(version=3, client_software_name=name, client_software_version="1"))
        assert struct.unpack_from(">h", wire.receive_frame(), 4)[0] == INVALID_REQUEST


@pytest.mark.parametrize(
    ("key", "version"),
    [(0, 0), (0, 2), (0, 14), (1, 3), (1, 99), (2, 0), (3, 99), (19, 1), (4, 0), (999, 0), (-1, 0)],
)
def test_other_unsupported_versions_and_apis_end_the_connection(bootstrap: str, key: int, version: int) -> None:
    with Wire(bootstrap) as wire:
        wire.send_frame(struct.pack(">hhih", key, version, 5, -1) + bytes(16))
        with pytest.raises(Closed):
            wire.receive_frame()
