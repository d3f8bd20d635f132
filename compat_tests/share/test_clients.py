"""Every share consumer on the same jobs: accepted, released, rejected, shared out, and taken over from the dead."""

import itertools

import pytest

from compat_tests import admin
from compat_tests.share.asking import prepare_group
from compat_tests.share.conftest import MakeTopic
from compat_tests.share.sending import send
from compat_tests.share.workers import KINDS, WorkerProcess, crew, wait_until

pytestmark = pytest.mark.timeout(180)
JOBS = [
    f"{kind}-{number}"
    for number, kind in enumerate(itertools.islice(itertools.cycle(["accept", "release", "reject"]), 30))
]


def counts(*workers: WorkerProcess) -> dict[str, list[int]]:
    """How often each value was given to somebody: the counts, in order."""
    found: dict[str, list[int]] = {}
    for worker in workers:
        for _, _, count, value in worker.given:
            found.setdefault(value, []).append(count)
    return {value: sorted(seen) for value, seen in found.items()}


def once(values: list[str]) -> dict[str, list[int]]:
    """As they are given out where nothing goes wrong."""
    return {value: [1, 2] if value.startswith("release") else [1] for value in values}


@pytest.mark.parametrize("kind", KINDS)
def test_jobs_are_accepted_released_and_rejected(bootstrap: str, group: str, make_topic: MakeTopic, kind: str) -> None:
    """And what is settled is not there for anybody who comes later; partitions that are added are worked on too."""
    topic = make_topic(2)
    send(bootstrap, topic, JOBS[:15])
    send(bootstrap, topic, JOBS[15:], partition=1)
    with crew(bootstrap, group, topic) as start:
        worker = start(kind)
        wait_until(lambda: counts(worker) == once(JOBS) and len(worker.settled) == 40, [worker])
        more = ["accept-later", "release-later"]
        admin.add_partitions(bootstrap, topic, 3)
        send(bootstrap, topic, more, partition=2)
        wait_until(lambda: counts(worker) == once(JOBS + more) and len(worker.settled) == 43, [worker])
        worker.close()
        later = start(kind)
        send(bootstrap, topic, ["accept-last"])
        wait_until(lambda: counts(later), [later])
        assert counts(later) == {"accept-last": [1]}
        assert not worker.failed


@pytest.mark.parametrize("kind", KINDS)
def test_two_share_one_partition_and_one_of_them_dies(
    bootstrap: str, group: str, make_topic: MakeTopic, kind: str
) -> None:
    """What the dead one had in hand goes to the other: its connection is cut, so nobody waits for its locks."""
    topic = make_topic()
    with crew(bootstrap, group, topic) as start:
        dying = start(kind)
        send(bootstrap, topic, ["accept-first"])
        wait_until(lambda: len(dying.settled) == 1, [dying])
        send(bootstrap, topic, ["hold-1", "accept-1", "accept-2"])
        wait_until(lambda: len(dying.given) >= 2, [dying])
        other = start("trio" if kind != "trio" else "asyncio")
        dying.kill()
        values = [f"accept-{number}" for number in range(3, 20)]
        send(bootstrap, topic, values)
        # It keeps what it was told to keep: the one behind that comes from the one that died.
        wait_until(lambda: set(counts(other)) >= {"hold-1"}, [other])
        assert counts(other)["hold-1"] == [2]


@pytest.mark.parametrize("pair", [("java", "trio"), ("confluent", "franz"), ("asyncio", "java")], ids="-".join)
def test_clients_of_different_kinds_share_one_partition(
    bootstrap: str, group: str, make_topic: MakeTopic, pair: tuple[str, str]
) -> None:
    prepare_group(bootstrap, group, **{"share.partition.max.record.locks": 100})
    topic = make_topic()
    values = [f"accept-{number}" for number in range(600)]
    with crew(bootstrap, group, topic) as start:
        workers = [start(kind) for kind in pair]
        for number, worker in enumerate(workers):
            send(bootstrap, topic, [f"accept-hello-{number}"])
            wait_until(lambda worker=worker: worker.given or counts(*workers), workers)
        for first in range(0, 600, 20):
            send(bootstrap, topic, values[first : first + 20])
        wait_until(lambda: set(counts(*workers)) >= set(values), workers)
        assert {tuple(seen) for seen in counts(*workers).values()} == {(1,)}


@pytest.mark.parametrize("kind", ["java", "confluent"])
def test_going_on_accepts_what_was_given_before(bootstrap: str, group: str, make_topic: MakeTopic, kind: str) -> None:
    """Acknowledgements in the implicit mode: nobody says anything, and nothing comes again."""
    topic = make_topic()
    values = [f"reject-{number}" for number in range(25)]
    with crew(bootstrap, group, topic) as start:
        worker = start(kind, "implicit")
        send(bootstrap, topic, values)
        wait_until(lambda: len(worker.settled) >= len(values), [worker])
        worker.close()
        assert (worker.failed, counts(worker)) == ([], {value: [1] for value in values})
        later = start(kind)
        send(bootstrap, topic, ["accept-last"])
        wait_until(lambda: counts(later), [later])
        assert counts(later) == {"accept-last": [1]}


@pytest.mark.parametrize("kind", ["java", "franz"])
def test_a_lock_that_is_renewed_does_not_run_out(bootstrap: str, group: str, make_topic: MakeTopic, kind: str) -> None:
    """A job of two seconds and more under a lock of one."""
    prepare_group(bootstrap, group, **{"share.record.lock.duration.ms": 1_000})
    topic = make_topic()
    with crew(bootstrap, group, topic) as start:
        slow = start(kind)
        send(bootstrap, topic, ["accept-first"])
        wait_until(lambda: len(slow.settled) == 1, [slow])
        send(bootstrap, topic, ["renew-1"])
        wait_until(lambda: "renew-1" in counts(slow), [slow])
        other = start("trio")
        wait_until(lambda: len(slow.settled) == 2, [slow, other])
        send(bootstrap, topic, ["accept-last"])
        wait_until(lambda: "accept-last" in counts(slow, other), [slow, other])
        # Java's client gives what was renewed with each poll again, and counts no further delivery.
        assert counts(slow)["renew-1"] == ([1] * 4 if kind == "java" else [1])
        assert "renew-1" not in counts(other)
        assert not slow.failed
