"""HTTP/2 as gRPC uses it, without I/O: calls, windows, floods, farewells."""

import h2.errors
import h2.events
import pytest
from hyperframe.frame import ContinuationFrame, HeadersFrame, PingFrame

from tests.wire.grpc.peer import CALL, Peer
from wire.grpc.config import GrpcLimits
from wire.grpc.headers import RESPONSE, trailers
from wire.grpc.session import (
    CONNECTION_WINDOW_BYTES,
    STREAM_WINDOW_BYTES,
    CallGivenUp,
    CallOpened,
    ClientLeaves,
    DataArrived,
    SendingEnded,
    SessionBroken,
)
from wire.grpc.status import Status

MIB = 1024 * 1024


def test_a_call_is_opened_filled_answered_and_ended() -> None:
    peer = Peer()
    call = peer.call(message=b"question", ends=True)
    opened, data, ended = peer.exchange()
    assert isinstance(opened, CallOpened)
    assert dict(opened.headers)[b":path"] == b"/tidegate.v1.Produce/Send"
    assert isinstance(data, DataArrived)
    assert data.data.endswith(b"question")
    assert ended == SendingEnded(call)
    peer.session.send_headers(call, RESPONSE)
    peer.session.send_data(call, b"answer")
    peer.session.finish(call, trailers(Status.OK))
    peer.exchange()
    assert [event.data for event in peer.told(h2.events.DataReceived)] == [b"answer"]
    (end,) = peer.told(h2.events.TrailersReceived)
    assert ("grpc-status", "0") in end.headers
    assert peer.session.call_count == 0
    assert not peer.told(h2.events.StreamReset)


def test_a_slow_client_gets_no_more_than_its_windows_and_the_rest_waits_with_the_call() -> None:
    peer = Peer()
    call = peer.call(ends=True)
    peer.exchange()
    peer.session.send_headers(call, RESPONSE)
    peer.session.send_data(call, bytes(MIB))
    peer.exchange()
    got = sum(len(event.data) for event in peer.told(h2.events.DataReceived))
    assert got == 65_535
    assert peer.session.queued(call) == MIB - got
    for event in peer.told(h2.events.DataReceived):
        peer.h2.acknowledge_received_data(event.flow_controlled_length, call)
    peer.exchange()
    assert peer.session.queued(call) < MIB - got


def test_a_call_whose_client_is_slow_does_not_hold_another_back() -> None:
    peer = Peer()
    peer.h2.increment_flow_control_window(10 * MIB)
    slow, quick = peer.call(ends=True), peer.call(ends=True)
    peer.exchange()
    for call, size in ((slow, MIB), (quick, 1000)):
        peer.session.send_headers(call, RESPONSE)
        peer.session.send_data(call, bytes(size))
        peer.session.finish(call, trailers(Status.OK))
    peer.exchange()
    assert peer.session.queued(slow) > 0
    assert [event.stream_id for event in peer.told(h2.events.StreamEnded)] == [quick]


def test_what_a_client_sends_is_owed_to_its_window_until_it_is_consumed() -> None:
    peer = Peer()
    call = peer.call()
    peer.exchange()
    peer.h2.send_data(call, bytes(60_000))
    (data,) = peer.exchange()
    assert isinstance(data, DataArrived)
    before = peer.h2.local_flow_control_window(call)
    for _ in range(6):
        peer.h2.send_data(call, bytes(60_000))
        peer.exchange()
    assert peer.h2.local_flow_control_window(call) == before - 360_000
    peer.session.consumed(call, 7 * 60_000)
    peer.exchange()
    assert peer.h2.local_flow_control_window(call) == STREAM_WINDOW_BYTES


def test_windows_are_given_back_for_data_of_calls_that_are_over() -> None:
    peer, sent = Peer(), 0
    for _ in range(20):
        call = peer.call()
        peer.exchange()
        peer.session.send_headers(call, ((b":status", b"200"), (b"grpc-status", b"7")), ends=True)
        for _ in range(40):  # before the client has heard of it
            peer.h2.send_data(call, bytes(10_000))
            sent += 10_000
        peer.exchange()
    assert sent == 8_000_000
    assert peer.h2.outbound_flow_control_window > CONNECTION_WINDOW_BYTES / 2
    assert {event.error_code for event in peer.told(h2.events.StreamReset)} == {h2.errors.ErrorCodes.NO_ERROR}


def test_one_call_too_many_is_refused_so_that_it_can_be_tried_again() -> None:
    peer = Peer(GrpcLimits(max_streams=2))
    calls = [peer.call() for _ in range(3)]
    opened = [event for event in peer.exchange() if isinstance(event, CallOpened)]
    assert [event.stream_id for event in opened] == calls[:2]
    (reset,) = peer.told(h2.events.StreamReset)
    assert (reset.stream_id, reset.error_code) == (calls[2], h2.errors.ErrorCodes.REFUSED_STREAM)
    assert peer.session.refused_calls == 1


def test_a_call_that_is_given_up_is_told() -> None:
    peer = Peer()
    call = peer.call()
    peer.exchange()
    peer.h2.reset_stream(call)
    assert peer.exchange() == [CallGivenUp(call)]
    assert peer.session.call_count == 0


def test_calls_that_are_opened_and_given_up_in_masses_end_the_connection() -> None:
    peer = Peer(GrpcLimits(resets_per_s=10))
    for _ in range(30):
        peer.h2.reset_stream(peer.call())
    with pytest.raises(SessionBroken, match=r"grpc\.max\.resets\.per\.second") as refused:
        peer.exchange()
    assert refused.value.reason == "flooding"
    assert _farewell(peer) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM


def test_calls_that_are_given_up_now_and_then_do_not() -> None:
    peer = Peer(GrpcLimits(resets_per_s=10))
    for _ in range(100):
        peer.h2.reset_stream(peer.call())
        peer.exchange()
        peer.time.now += 0.2


def test_pings_in_masses_end_the_connection() -> None:
    peer = Peer(GrpcLimits(control_frames_per_s=20))
    peer.exchange()
    flood = PingFrame(0, opaque_data=b"ping ...").serialize() * 100
    with pytest.raises(SessionBroken, match=r"grpc\.max\.control\.frames\.per\.second"):
        list(peer.session.receive(memoryview(flood)))
    assert _farewell(peer) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM


def test_headers_in_endless_pieces_end_the_connection() -> None:
    peer = Peer()
    peer.exchange()
    flood = HeadersFrame(1, b"\x82").serialize() + ContinuationFrame(1, b"").serialize() * 64
    with pytest.raises(SessionBroken, match="CONTINUATION"):
        list(peer.session.receive(memoryview(flood)))
    assert _farewell(peer) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM


@pytest.mark.parametrize("size", [1300, 4000], ids=["unpacked", "packed"])
def test_headers_that_are_too_large_end_the_connection(size: int) -> None:
    peer = Peer(GrpcLimits(max_header_bytes=1024))
    peer.exchange()
    peer.h2.send_headers(1, (*CALL, ("large", "x" * size)))
    with pytest.raises(SessionBroken, match="too large") as refused:
        list(peer.session.receive(memoryview(peer.h2.data_to_send())))
    assert refused.value.reason == "flooding"
    assert _farewell(peer) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM


def test_headers_are_not_kept_beyond_their_bound_while_their_end_is_to_come() -> None:
    peer = Peer(GrpcLimits(max_header_bytes=1024))
    peer.exchange()
    begun = HeadersFrame(1, b"\x00" + b"x" * 1000).serialize()
    assert list(peer.session.receive(memoryview(begun))) == []
    with pytest.raises(SessionBroken, match=r"grpc\.max\.header\.bytes") as refused:
        # Its head alone: what it announces is not waited for.
        list(peer.session.receive(memoryview(ContinuationFrame(1, b"x" * 200_000).serialize()[:9])))
    assert refused.value.reason == "flooding"
    assert _farewell(peer) == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM


def test_each_call_has_room_for_headers_of_its_own() -> None:
    peer = Peer(GrpcLimits(max_header_bytes=2048))
    for number in range(5):
        peer.h2.send_headers(peer.h2.get_next_available_stream_id(), (*CALL, ("large", f"{number}" * 1200)))
    assert len([event for event in peer.exchange() if isinstance(event, CallOpened)]) == 5


def test_what_is_no_http2_ends_the_connection() -> None:
    peer = Peer()
    with pytest.raises(SessionBroken) as refused:
        list(peer.session.receive(memoryview(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n")))
    assert refused.value.reason == "malformed"


def test_after_going_away_calls_that_are_there_are_finished_and_new_ones_refused() -> None:
    peer = Peer()
    call = peer.call(ends=True)
    peer.exchange()
    peer.session.go_away("the broker stops")
    peer.session.send_headers(call, RESPONSE)
    late = peer.call()
    frames = peer.session.take()
    assert b"the broker stops" in frames
    list(peer.session.receive(memoryview(peer.h2.data_to_send())))
    peer.session.send_data(call, b"still")
    peer.session.finish(call, trailers(Status.OK))
    assert b"still" in peer.session.take()
    assert peer.session.refused_calls == 1
    assert late > call
    assert peer.session.call_count == 0


def test_a_client_that_says_goodbye_is_told_of() -> None:
    peer = Peer()
    peer.exchange()
    peer.h2.close_connection()
    assert peer.exchange() == [ClientLeaves()]


def _farewell(peer: Peer) -> int:
    peer.heard += peer.h2.receive_data(peer.session.take())
    (end,) = peer.told(h2.events.ConnectionTerminated)
    return int(end.error_code or 0)
