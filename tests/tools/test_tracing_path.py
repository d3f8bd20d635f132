"""The benchmark of a traced record's way does what it says: traces one in a hundred, and only where it says so."""

from pathlib import Path

import trio

from engine.records.layout import parse_header
from engine.trace.sniff import mark_in, with_context
from tools.bench.tracing import batch
from tools.bench.tracing_path import TOPICS, measure


def test_one_record_of_a_hundred_has_the_header() -> None:
    data = batch(100, 50, 100)
    section = memoryview(data)[61:]
    assert parse_header(data).record_count == 100
    assert len(with_context(section, mark_in(section), 100)) == 1
    assert mark_in(memoryview(batch(100, 50, None))[61:]) == -1


def test_every_topic_has_its_turns(tmp_path: Path) -> None:
    used = trio.run(measure, 10, 50, 2, 5, str(tmp_path))
    assert {topic: len(turns) for topic, turns in used.items()} == dict.fromkeys(TOPICS, 2)
    assert all(turn > 0 for turns in used.values() for turn in turns)
