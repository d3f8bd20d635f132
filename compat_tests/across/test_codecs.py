"""Every codec, produced by each client and read by every other."""

from collections.abc import Callable

import pytest

from compat_tests.clients import CLIENTS, Record
from compat_tests.clients.base import CODECS
from compat_tests.wire.requests import batches

RECORDS = 20


def records_of(producer: str) -> list[Record]:
    # Long and repetitive, so that no client finds compression not worth its while.
    return [
        Record(f"{producer} {number} ".encode() * 30, key=f"{producer}-{number}".encode()) for number in range(RECORDS)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_all_read_what_each_wrote(bootstrap: str, make_topic: Callable[..., str], codec: str) -> None:
    topic = make_topic()
    expected = []
    for name, client in CLIENTS.items():
        client.produce(bootstrap, topic, records_of(name), codec)
        expected += [(record.key, record.value) for record in records_of(name)]
    # A client that finds the versions of Produce odd turns compression off without a word.
    assert {batch.codec for batch in batches(bootstrap, topic)} == {codec}
    for name, client in CLIENTS.items():
        found = client.consume(bootstrap, topic, len(expected))
        assert [(record.key, record.value) for record in found] == expected, f"as read by {name}"
        assert [record.offset for record in found] == list(range(len(expected))), f"as read by {name}"
