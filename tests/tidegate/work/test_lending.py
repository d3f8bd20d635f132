"""One broker's loans: units that fail as a whole, gaps, passing errors, sessions that end."""

import pytest

from tests.tidegate.work.fake_brokers import LOCK_MS, TOPIC_ID, FakeBrokers, handed_out
from tests.tidegate.work.test_core import ACCEPT, REJECT, begun, settle
from tidegate.work.job import JobLost, Settlement, WorkError
from tidegate.work.lending import Lending
from wire.kafka.messages.share_fetch import AcquiredRecords, ShareFetchableTopicResponse, ShareFetchResponse

LOST = 121


def test_neighbours_are_acknowledged_as_one_batch() -> None:
    brokers = begun(4)
    jobs = list(brokers.core.ready)
    for job, kind in zip(jobs, (ACCEPT, REJECT, ACCEPT, ACCEPT), strict=True):
        settle(brokers, job, kind)
    brokers.run(1)
    assert brokers.settled == [(0, 0, 1), (0, 1, 3), (0, 2, 1), (0, 3, 1)]


def test_what_is_released_after_a_delay_is_a_batch_of_its_own() -> None:
    lending, _ = lent([AcquiredRecords(0, 4, 1)], [0, 1, 2, 3, 4])
    for job, delay_ms in zip(lending.fresh, (None, 5_000, 5_000, 0, None), strict=True):
        job.delay_ms = delay_ms
        lending.note(job, Settlement.RELEASE, None)
    asked = lending.request(1.0, 0)
    assert asked is not None
    (partition,) = asked[0].topics[0].partitions
    assert [
        (each.first_offset, each.last_offset, each.tidegate_backoff_ms) for each in partition.acknowledgement_batches
    ] == [(0, 0, -1), (1, 2, 5_000), (3, 3, 0), (4, 4, -1)]


def test_one_that_was_lost_takes_no_other_with_it() -> None:
    brokers = begun(3)
    brokers.gone = {1}
    core, jobs = brokers.core, list(brokers.core.ready)
    lending = core._lendings[brokers.addresses[0]]
    outcomes: list[list[Exception | None]] = [[], [], []]
    for job, outcome in zip(jobs, outcomes, strict=True):
        lending.note(job, ACCEPT, outcome.append)  # before anything is sent: they are one unit
    brokers.run(2)
    assert [type(outcome[0]) for outcome in outcomes] == [type(None), JobLost, type(None)]
    assert sorted(brokers.settled) == [(0, 0, 1), (0, 2, 1)]


@pytest.mark.parametrize("error", [15, 16, 7, -1])
def test_what_the_broker_cannot_write_now_is_sent_again(error: int) -> None:
    brokers = begun(1)
    brokers.refuse = {0: error}
    outcome = settle(brokers, brokers.core.ready[0], ACCEPT)
    brokers.run(1)
    assert outcome == [None]


def test_an_error_that_does_not_pass_is_told() -> None:
    brokers = begun(1)
    brokers.refuse = {0: 6}
    outcome = settle(brokers, brokers.core.ready[0], ACCEPT)
    brokers.run(1)
    assert "error 6" in str(outcome[0])


def test_the_end_of_a_session_loses_what_it_lent() -> None:
    brokers = begun(1)
    brokers.errors["ShareAcknowledge"] = 122
    outcome = settle(brokers, brokers.core.ready[0], ACCEPT)
    brokers.run(1)
    assert isinstance(outcome[0], JobLost)
    assert brokers.core.failure is None


def test_a_session_that_is_not_allowed_ends_the_worker() -> None:
    brokers = FakeBrokers(errors={"ShareFetch": 29})
    brokers.run(1)
    assert isinstance(brokers.core.failure, WorkError)


def test_a_renewal_that_is_refused_is_not_tried_again() -> None:
    brokers = begun(1)
    brokers.refuse = {0: LOST}
    brokers.asked.clear()
    brokers.run(40)
    assert brokers.asked.count("ShareAcknowledge") == 1
    outcome = settle(brokers, brokers.core.ready[0], ACCEPT)
    brokers.run(1)
    assert outcome == [None]


def lent(acquired: list[AcquiredRecords], offsets: list[int]) -> tuple[Lending, list[int]]:
    """A session that was given these, and the offsets that it makes jobs of."""

    async def settle_nothing(*_: object) -> None: ...

    lending = Lending("g", "m", settle_nothing, {TOPIC_ID: "jobs"})
    lending.wanted = frozenset({(TOPIC_ID, 0)})
    assert lending.request(0.0, 10) is not None
    data = handed_out(0, offsets)
    data.acquired_records = acquired
    answer = ShareFetchResponse(acquisition_lock_timeout_ms=LOCK_MS)
    answer.responses = [ShareFetchableTopicResponse(TOPIC_ID, [data])]
    lending.answered(answer, 1.0, 0.0)
    return lending, [job.offset for job in lending.fresh]


def test_offsets_without_a_record_are_said_to_be_gaps() -> None:
    lending, jobs = lent([AcquiredRecords(0, 5, 1)], [0, 3])
    assert jobs == [0, 3]
    asked = lending.request(1.0, 0)
    assert asked is not None
    (partition,) = asked[0].topics[0].partitions
    assert [(each.first_offset, each.acknowledge_types) for each in partition.acknowledgement_batches] == [
        (1, [0, 0]),
        (4, [0, 0]),
    ]


def test_only_what_was_acquired_becomes_a_job() -> None:
    _, jobs = lent([AcquiredRecords(1, 2, 3)], [0, 1, 2, 3])
    assert jobs == [1, 2]
