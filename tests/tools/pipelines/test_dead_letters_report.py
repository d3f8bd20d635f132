"""The page of `dead-letters`, out of plain groups."""

from typing import Any

from tools.pipelines.dead_letters_report import label, page

START = 1_794_830_400.0


def group(error: str | None, letters: int, **changed: Any) -> dict[str, Any]:
    known = {
        "error": error,
        "origin_topic": "orders",
        "consumer": "sink",
        "letters": letters,
        "topics": ["orders.dlq"],
        "first_seen": "2026-11-16T12:00:00.000Z",
        "last_seen": "2026-11-16T12:34:56.789Z",
        "samples": [{"place": "orders.dlq-0 @ 1", "key": "k", "value": "<v>", "message": "it broke"}],
    }
    return {**known, **changed}


def test_groups_over_time_and_samples() -> None:
    groups = [group("JsonError", 9), group(None, 1, samples=[], consumer=None)]
    html = page(groups, {label(groups[0]): [(START, 3.0), (START + 60, 6.0)]}, 60.0).html()
    assert "10 letters, grouped by error, origin and consumer" in html
    assert "<b>90 %</b><span>JsonError</span>" in html
    assert ">letters per minute</text>" in html
    assert "<b>12:34:56</b><span>2026-11-16</span>" in html
    assert "<h2>JsonError, from orders</h2>" in html
    assert "given up by sink; the last 1 of 9 letters" in html
    assert "&lt;v&gt;" in html
    assert "(no error told)" in html


def test_no_letter_matches() -> None:
    assert "No letter matches." in page([], {}, 1.0).html()
