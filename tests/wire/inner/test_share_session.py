"""A session with a leader: requests are counted, and one that was lost is begun anew without giving anything up."""

from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.share.acks import AckType
from engine.errors import InvalidRecordState, ShareSessionLimitReached
from wire.inner.share_session import LeaderSession, Said
from wire.kafka.errors import ErrorCode
from wire.kafka.messages import share_acknowledge
from wire.kafka.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from wire.kafka.messages.share_fetch import ShareFetchRequest, ShareFetchResponse

TOPIC = b"\1" * 16
PLACE = (TOPIC, 0)


class Leader:
    """Answers with the next of `codes`, then with success."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.asked: list[Any] = []
        self.refuses = 0

    async def __call__(self, message: Any, wait_s: float) -> Any:
        await trio.lowlevel.checkpoint()
        self.asked.append(message)
        code = self.codes.pop(0) if self.codes else 0
        if isinstance(message, ShareFetchRequest):
            return ShareFetchResponse(error_code=code)
        data = share_acknowledge.PartitionData(0, self.refuses)
        topic = share_acknowledge.ShareAcknowledgeTopicResponse(TOPIC, [data])
        return ShareAcknowledgeResponse(error_code=code, responses=[topic])

    def epochs(self) -> list[int]:
        return [each.share_session_epoch for each in self.asked]


async def fetch(session: LeaderSession, *indexes: int) -> None:
    wanted = frozenset((TOPIC, index) for index in indexes)
    await session.fetch(wanted, max_records=1, max_bytes=1000, wait_s=0.0)


@trio_test
async def test_requests_are_counted_and_carry_what_changed() -> None:
    leader = Leader()
    session = LeaderSession(leader, "g", "m")
    await fetch(session, 0)
    await fetch(session, 0, 1)
    await fetch(session, 1)
    await session.acknowledge({PLACE: [Said(4, AckType.ACCEPT, 2), Said(3, AckType.RELEASE, 1, 500)]})
    assert leader.epochs() == [0, 1, 2, 3]
    named = [
        [each.partition_index for topic in message.topics for each in topic.partitions] for message in leader.asked
    ]
    assert named == [[0], [1], [], [0]]
    assert leader.asked[2].forgotten_topics_data[0].partitions == [0]
    told: ShareAcknowledgeRequest = leader.asked[3]
    said = [
        (each.first_offset, each.acknowledge_types, each.tidegate_delivery_count, each.tidegate_backoff_ms)
        for each in told.topics[0].partitions[0].acknowledgement_batches
    ]
    assert said == [(3, [2], 1, 500), (4, [1], 2, -1)]


@trio_test
async def test_a_lost_session_is_begun_anew() -> None:
    leader = Leader(0, ErrorCode.SHARE_SESSION_NOT_FOUND)
    session = LeaderSession(leader, "g", "m")
    await fetch(session, 0)
    outcomes = await session.acknowledge({PLACE: [Said(3, AckType.ACCEPT)]})
    assert outcomes == {PLACE: None}
    # The acknowledgement that was refused, a fetch of nothing that opens another session, and it once more.
    assert leader.epochs() == [0, 1, 0, 1]
    assert leader.asked[2].max_records == 0


@trio_test
async def test_what_a_leader_refuses_is_told() -> None:
    leader = Leader()
    session = LeaderSession(leader, "g", "m")
    leader.refuses = ErrorCode.INVALID_RECORD_STATE
    outcomes = await session.acknowledge({PLACE: [Said(3, AckType.ACCEPT)]})
    assert isinstance(outcomes[PLACE], InvalidRecordState)
    with pytest.raises(ShareSessionLimitReached):
        await fetch(LeaderSession(Leader(ErrorCode.SHARE_SESSION_LIMIT_REACHED), "g", "m"), 0)
