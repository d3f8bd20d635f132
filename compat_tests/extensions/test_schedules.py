"""`tide-schedule-id` and `tide-cancel`: records that are replaced or taken back by plain records."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests import admin
from compat_tests.clients import CLIENTS
from compat_tests.clients.base import Record
from compat_tests.conftest import unique_name
from compat_tests.extensions.holding import batch, end_offset, tide, tidegate_only, watching
from compat_tests.waiting import eventually
from compat_tests.wire.requests import produce, produced

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
DELAY_MS = 4000
"""Time enough for any client to change its mind on a busy machine."""
STORY = [
    Record(b"to be cancelled", b"k", tide(delay=DELAY_MS, schedule_id="a")),
    Record(b"to be replaced", b"k", tide(delay=DELAY_MS, schedule_id="b")),
    Record(b"to be kept", b"k", tide(delay=DELAY_MS, schedule_id="c")),
    Record(b"replaces", b"k", tide(delay=DELAY_MS + 200, schedule_id="b")),
    Record(b"cancels", b"k", tide(cancel="a")),
    Record(b"cancels what is not there", b"k", tide(cancel="d")),
    Record(b"the end", b"k", tide(delay=DELAY_MS + 500)),
]


@pytest.fixture(scope="module")
def outcomes(bootstrap: str) -> dict[str, list[bytes | None]]:
    """What came of the story told by each client, all at the same time."""

    def tell(name: str) -> list[bytes | None]:
        topic = unique_name(f"story-{name}")
        admin.create_topic(bootstrap, topic)
        with watching(bootstrap, topic) as watcher:
            CLIENTS[name].produce(bootstrap, topic, STORY)
            watcher.arrival(b"the end")
        return watcher.values

    with ThreadPoolExecutor(len(CLIENTS)) as pool:
        return dict(zip(CLIENTS, pool.map(tell, CLIENTS), strict=True))


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_cancels_and_replaces(outcomes: dict[str, list[bytes | None]], name: str) -> None:
    assert outcomes[name] == [b"to be kept", b"replaces", b"the end"]


def send(bootstrap: str, topic: str, *records: Record) -> None:
    answer = produced(bootstrap, produce(topic, batch(records)))
    assert (answer.error_code, answer.base_offset) == (0, -1)


def test_a_late_cancel_succeeds_and_leaves_the_log_alone(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, Record(b"due", b"k", tide(delay=1, schedule_id="a")))
    eventually(lambda: end_offset(bootstrap, topic), 1)
    send(bootstrap, topic, Record(b"cancels", b"k", tide(cancel="a")))
    assert end_offset(bootstrap, topic) == 1
    send(bootstrap, topic, Record(b"again", b"k", tide(delay=1, schedule_id="a")))
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"again")
    assert watcher.values == [b"due", b"again"]


def test_all_in_one_batch(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, *(Record(r.value, r.key, _sooner(r)) for r in STORY))
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"the end")
    assert watcher.values == [b"to be kept", b"replaces", b"the end"]


def test_a_replacement_may_come_sooner_or_at_once(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, Record(b"far", b"k", tide(delay=3_600_000, schedule_id="a")))
    send(bootstrap, topic, Record(b"far too", b"k", tide(delay=3_600_000, schedule_id="b")))
    send(bootstrap, topic, Record(b"sooner", b"k", tide(delay=300, schedule_id="a")))
    send(bootstrap, topic, Record(b"at once", b"k", tide(schedule_id="b")))
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"sooner")
    assert watcher.values == [b"at once", b"sooner"]


def test_ids_of_other_partitions_are_others(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    send(bootstrap, topic, Record(b"kept", b"k", tide(delay=400, schedule_id="a")))
    cancel = batch([Record(b"", b"k", tide(cancel="a"))])
    assert produced(bootstrap, produce(topic, cancel, partition=1)).error_code == 0
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"kept")


def _sooner(record: Record) -> tuple[tuple[str, bytes | None], ...]:
    headers = dict(record.headers)
    if "tide-delay" in headers:
        headers["tide-delay"] = b"%d" % (int(headers["tide-delay"] or 0) - DELAY_MS + 300)
    return tuple(headers.items())
