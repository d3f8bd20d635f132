"""A connection without I/O: versions first, answers in pieces, and what is no answer."""

import struct
from typing import Any

import pytest

from tidegate.work.conversation import MAX_ANSWER_BYTES, Conversation
from tidegate.work.job import WorkError
from wire.kafka.codec import WireError, response_encoder
from wire.kafka.messages.api_versions import ApiVersion, ApiVersionsResponse
from wire.kafka.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from wire.kafka.messages.share_fetch import ShareFetchRequest


def frame(answer: Any, version: int, correlation: int, *, flexible: bool) -> bytes:
    body = b"".join(response_encoder(answer.API_KEY, version)(answer))  # type: ignore[arg-type]
    head = struct.pack(">i", correlation) + (b"\0" if flexible else b"")
    return struct.pack(">i", len(head) + len(body)) + head + body


def opened(*versions: ApiVersion) -> Conversation:
    conversation = Conversation("1")
    conversation.open(0.0)
    assert conversation.to_send()
    assert not conversation.is_ready
    conversation.receive(frame(ApiVersionsResponse(api_keys=list(versions)), 3, 1, flexible=False), 0.0)
    assert conversation.is_ready
    return conversation


def test_answers_come_in_pieces_and_in_order() -> None:
    conversation = opened(ApiVersion(10, 0, 4))
    found: list[Any] = []
    for group in ("g", "h"):
        conversation.ask(FindCoordinatorRequest(coordinator_keys=[group]), lambda answer, _: found.append(answer), 0.0)
    answers = b"".join(
        frame(FindCoordinatorResponse(coordinators=[Coordinator(group)]), 4, number, flexible=True)
        for number, group in ((2, "g"), (3, "h"))
    )
    for index in range(len(answers)):
        conversation.receive(answers[index : index + 1], 0.0)
    assert [answer.coordinators[0].key for answer in found] == ["g", "h"]
    assert conversation.deadline is None


def test_there_is_a_time_by_which_an_answer_has_to_come() -> None:
    conversation = opened(ApiVersion(10, 0, 4))
    conversation.ask(FindCoordinatorRequest(), lambda *_: None, 5.0, waits_s=1.0)
    assert conversation.deadline == 21.0


def test_a_broker_of_earlier_share_groups_is_refused() -> None:
    with pytest.raises(WorkError, match=r"no ShareFetch .* Kafka 4\.2"):
        opened(ApiVersion(78, 1, 1)).ask(ShareFetchRequest(), lambda *_: None, 0.0)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", MAX_ANSWER_BYTES + 1),
        struct.pack(">i", 1) + b"x",
        struct.pack(">ii", 4, 9),
    ],
    ids=["too long", "too short", "not asked for"],
)
def test_what_is_no_answer(data: bytes) -> None:
    with pytest.raises(WireError):
        opened().receive(data, 0.0)


def test_an_answer_to_another_request() -> None:
    conversation = opened(ApiVersion(10, 0, 4))
    conversation.ask(FindCoordinatorRequest(), lambda *_: None, 0.0)
    with pytest.raises(WireError, match="another"):
        conversation.receive(struct.pack(">ii", 4, 9), 0.0)
