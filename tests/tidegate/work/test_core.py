"""A worker without I/O, with brokers that have none either: what it asks, when, and what it does when things break."""

import pytest

from tests.tidegate.work.fake_brokers import FakeBrokers
from tidegate.work.job import Job, JobLost, JobSettled, Settlement, WorkError

ACCEPT, RELEASE, REJECT = Settlement.ACCEPT, Settlement.RELEASE, Settlement.REJECT
RENEW = Settlement.RENEW


def settle(brokers: FakeBrokers, job: Job, settlement: Settlement) -> list[Exception | None]:
    """What its settlement ends with, once it has."""
    outcome: list[Exception | None] = []
    brokers.core.note(job, settlement, outcome.append, brokers.now)
    return outcome


def begun(offsets: int = 3, **options: object) -> FakeBrokers:
    brokers = FakeBrokers(available={0: list(range(offsets))}, **options)  # type: ignore[arg-type]
    brokers.run(1)
    return brokers


def test_jobs_come_and_are_settled() -> None:
    brokers = begun()
    first, second, third = brokers.core.ready
    assert (first.topic, first.partition, first.offset, first.key, first.value) == ("jobs", 0, 0, b"k", b"v0")
    assert (first.timestamp_ms, first.delivery_count) == (7, 1)
    outcomes = [settle(brokers, first, ACCEPT), settle(brokers, second, RELEASE)]
    brokers.run(1)
    assert outcomes == [[None], [None]]
    assert brokers.settled[:2] == [(0, 0, 1), (0, 1, 2)]
    assert third.settled is None
    with pytest.raises(JobSettled):
        settle(brokers, first, RELEASE)


def test_no_more_is_lent_than_may_be() -> None:
    brokers = begun(25)
    assert len(brokers.core.ready) == 10
    for job in list(brokers.core.ready):
        settle(brokers, job, ACCEPT)
    brokers.core.ready.clear()
    brokers.run(1)
    assert [job.offset for job in brokers.core.ready] == list(range(10, 20))


def test_heartbeats_go_on_while_nothing_is_to_be_done() -> None:
    brokers = begun(0)
    brokers.asked.clear()
    brokers.run(21)
    assert 4 <= brokers.asked.count("ShareGroupHeartbeat") <= 5


def test_locks_are_renewed_at_half_their_time_until_the_job_is_settled() -> None:
    brokers = begun(1)
    (job,) = brokers.core.ready
    brokers.run(40)
    assert brokers.settled == [(0, 0, RENEW)] * 2
    settle(brokers, job, ACCEPT)
    brokers.run(40)
    assert brokers.settled[2:] == [(0, 0, ACCEPT)]


def test_a_worker_that_stops_releases_what_nobody_was_given_and_leaves() -> None:
    brokers = begun(3)
    job = brokers.core.ready.popleft()
    brokers.core.stop(brokers.now)
    brokers.run(1)
    assert (brokers.settled, brokers.core.has_ended) == ([(0, 1, RELEASE), (0, 2, RELEASE)], False)
    outcome = settle(brokers, job, ACCEPT)
    brokers.run(1)
    assert outcome == [None]
    assert brokers.settled[-1] == (0, 0, ACCEPT)
    assert brokers.epochs[-1] == -1
    assert brokers.asked[-1] == "ShareGroupHeartbeat"
    assert (brokers.core.has_ended, brokers.core.failure) == (True, None)


def test_what_is_not_settled_at_the_end_is_released() -> None:
    brokers = begun(1)
    brokers.core.ready.popleft()
    brokers.core.stop(brokers.now)
    brokers.core.release_rest(brokers.now)
    brokers.run(1)
    assert brokers.settled == [(0, 0, RELEASE)]
    assert brokers.core.has_ended


def test_a_lost_connection_takes_its_jobs_along_and_is_made_again() -> None:
    brokers = begun(2)
    waiting = brokers.core.ready.popleft()
    outcome = settle(brokers, waiting, ACCEPT)
    brokers.cut(brokers.addresses[0])
    assert isinstance(outcome[0], JobLost)
    assert waiting.is_lost
    assert not brokers.core.ready, "nobody is given what is lost"
    brokers.available[0] = [0, 1]
    brokers.run(3)
    assert [job.offset for job in brokers.core.ready] == [0, 1]


def test_a_broker_that_is_down_is_tried_again_and_less_often() -> None:
    brokers = FakeBrokers(available={0: [0]}, down={("a", 1)})
    brokers.run(10)
    brokers.down.clear()
    brokers.run(3)
    assert len(brokers.core.ready) == 1


def test_leaders_move() -> None:
    brokers = begun(1, partitions=2)
    brokers.leaders = {0: 1}
    brokers.cut(brokers.addresses[0])
    brokers.available = {0: [5], 1: [6]}
    brokers.run(3)
    assert sorted((job.partition, job.offset) for job in brokers.core.ready) == [(0, 5), (1, 6)]


def test_a_member_that_is_not_known_any_more_joins_again() -> None:
    brokers = begun(0)
    brokers.errors["ShareGroupHeartbeat"] = 25
    brokers.run(6)
    assert (brokers.joined, brokers.core.membership.epoch) == (2, 1)


@pytest.mark.parametrize("error", [14, 15, 16])
def test_a_coordinator_that_moves_is_looked_for(error: int) -> None:
    brokers = begun(0)
    brokers.errors["ShareGroupHeartbeat"] = error
    brokers.asked.clear()
    brokers.run(7)
    assert "FindCoordinator" in brokers.asked
    assert brokers.core.failure is None


@pytest.mark.parametrize("error", [30, 42, 69, 81])
def test_a_refusal_for_good_ends_it(error: int) -> None:
    brokers = FakeBrokers(errors={"ShareGroupHeartbeat": error})
    brokers.run(1)
    assert isinstance(brokers.core.failure, WorkError)
    assert f"(error {error})" in str(brokers.core.failure)


def test_a_broker_without_share_groups_is_told_of() -> None:
    brokers = FakeBrokers()
    del brokers.versions[76]
    brokers.run(1)
    assert "no ShareGroupHeartbeat" in str(brokers.core.failure)


def test_bytes_that_are_no_answer_end_the_connection_and_not_the_worker() -> None:
    brokers = begun(0)
    brokers.core.received(brokers.addresses[0], b"\x7f\xff\xff\xff", brokers.now)
    assert brokers.core.failure is None
    brokers.available[0] = [0]
    brokers.run(3)
    assert len(brokers.core.ready) == 1


def test_a_session_in_another_epoch_is_opened_anew_and_its_jobs_are_kept() -> None:
    brokers = begun(1)
    (job,) = brokers.core.ready
    brokers.errors["ShareAcknowledge"] = 123
    outcome = settle(brokers, job, ACCEPT)
    brokers.run(2)
    assert outcome == [None]
    assert 0 in brokers.epochs[1:]
