"""Where extensions are off, `tide-` headers are data like any other: as with Kafka itself."""

from collections.abc import Callable

import pytest

from compat_tests import brokers
from compat_tests.clients import CLIENTS
from compat_tests.clients.base import Record
from compat_tests.extensions.holding import batch, tide
from compat_tests.wire.requests import produce, produced

MakeTopic = Callable[..., str]
OFF = {"extensions_enable": "false"} if brokers.target() == "tidegate" else {}
RECORDS = [
    Record(b"delayed", b"k", tide(delay=3_600_000)),
    Record(b"nonsense", b"k", tide(delay="soon", priority="urgent", dealy="1")),
    Record(b"twice", b"k", (*tide(delay=1), *tide(delay=2))),
    Record(b"cancels", b"k", tide(cancel="a")),
    Record(b"low", b"k", tide(priority="background")),
    Record(b"critical", b"k", tide(priority="critical")),
    Record(b"expires", b"k", tide(ttl=0)),
    Record(b"no key", None, tide(schedule_id="a")),
]


@pytest.mark.parametrize("name", CLIENTS)
def test_headers_are_kept_and_change_nothing(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic(**OFF)
    CLIENTS[name].produce(bootstrap, topic, RECORDS)
    found = CLIENTS[name].consume(bootstrap, topic, len(RECORDS))
    assert [record.content for record in found] == [(r.key, r.value, r.headers) for r in RECORDS]
    assert [record.offset for record in found] == list(range(len(RECORDS)))


def test_producers_are_told_offsets(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(**OFF)
    for number in range(3):
        answer = produced(bootstrap, produce(topic, batch(RECORDS)))
        assert (answer.error_code, answer.base_offset) == (0, number * len(RECORDS))
