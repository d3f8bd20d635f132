"""Frames and their order: what a connection may carry, and what ends it."""

import struct

import pytest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from compat_tests.wire.connection import Wire
from compat_tests.wire.requests import fetch, fetch_partition, list_offsets


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(struct.pack(">i", -5), id="negative-size"),
        pytest.param(struct.pack(">i", 2**31 - 1), id="size-beyond-the-limit"),
        pytest.param(struct.pack(">i", 0), id="empty"),
        pytest.param(struct.pack(">ihhihi", 14, 3, 1, 5, -1, 5), id="count-beyond-the-frame"),
        pytest.param(struct.pack(">ihhih", 16, 3, 9, 5, -1) + b"\0" + b"\xff\xff\xff\xff\x0f", id="huge-compact-count"),
    ],
)
def test_a_malformed_frame_ends_the_connection(bootstrap: str, data: bytes) -> None:
    with Wire(bootstrap) as wire:
        wire.send_bytes(data)
        wire.wait_closed()


def test_pipelined_requests_are_answered_in_order(bootstrap: str, make_topic) -> None:
    topic = make_topic()
    with Wire(bootstrap) as wire:
        requests = [
            # The first waits for records that do not come, and the others wait for it.
            fetch(topic, [fetch_partition(0)], max_wait_ms=300),
            MetadataRequest(version=1, topics=[]),
            list_offsets(topic, -1),
            ApiVersionsRequest(version=2),
            fetch(topic, [fetch_partition(0)]),
        ]
        sent = [(request, wire.send(request)) for request in requests]
        for request, correlation in sent:
            wire.receive(request, correlation)


def test_a_request_may_come_byte_by_byte(bootstrap: str) -> None:
    with Wire(bootstrap) as wire:
        frame = struct.pack(">hhihi", 3, 1, 5, -1, 0)
        for byte in struct.pack(">i", len(frame)) + frame:
            wire.send_bytes(bytes([byte]))
        assert struct.unpack_from(">i", wire.receive_frame())[0] == 5


def test_many_requests_in_one_packet(bootstrap: str) -> None:
    with Wire(bootstrap) as wire:
        frames = [struct.pack(">ihhihi", 14, 3, 1, number, -1, 0) for number in range(50)]
        wire.send_bytes(b"".join(frames))
        answered = [struct.unpack_from(">i", wire.receive_frame())[0] for _ in range(50)]
        assert answered == list(range(50))
