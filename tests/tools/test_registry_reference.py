"""The list of what another registry answers otherwise, and the page that shows it."""

from pathlib import Path

from tools.registry_reference.__main__ import differing, reasons
from tools.registry_reference.calls import CALLS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schemas.md"


def test_the_page_has_every_reason() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for topic, each in reasons().items():
        assert f"| {topic} | {each['here']} | {each['there']} |" in page


def test_every_reason_is_of_a_call_that_is_made() -> None:
    assert reasons().keys() <= {call.topic for call in CALLS}


def test_answers_that_differ_are_told_by_topic() -> None:
    same = [(200, None)] * len(CALLS)
    assert differing(same, same) == {}
    other = [(404, 40401), *same[1:]]
    assert list(differing(same, other)) == [CALLS[0].topic]
