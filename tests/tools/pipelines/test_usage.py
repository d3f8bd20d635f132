"""What the streaming query of `usage` tells of itself."""

import json
import re
from types import SimpleNamespace
from typing import Any

from tools.pipelines.usage import _news, offsets_of, pattern_of


def query(*events: tuple[str, int]) -> Any:
    """A query with progress of these times and micro-batches."""
    told = [
        SimpleNamespace(timestamp=lambda at=at: at, json=lambda at=at, n=n: json.dumps({"timestamp": at, "batchId": n}))
        for at, n in events
    ]
    return SimpleNamespace(_jsq=SimpleNamespace(recentProgress=lambda: told))


def test_progress_is_news_once_also_after_waiting() -> None:
    events = [("09:00:01", 0), ("09:00:12", 1), ("09:00:22", 1)]  # waits, then the batch of that number
    assert [each["timestamp"] for each in _news(query(*events), "")] == ["09:00:01", "09:00:12", "09:00:22"]
    assert [each["timestamp"] for each in _news(query(*events), "09:00:12")] == ["09:00:22"]
    assert _news(query(*events), "09:00:22") == []


def test_offsets_in_the_forms_that_spark_has() -> None:
    wanted = {"orders": {0: 5, 1: 7}}
    assert offsets_of({"orders": {"0": 5, "1": 7}}) == wanted
    assert offsets_of('{"orders": {"0": 5, "1": 7}}') == wanted
    assert offsets_of(None) == offsets_of("") == offsets_of("null") == {}


def test_topics_of_tenants_match_and_no_others() -> None:
    pattern = pattern_of(["acme", "a-b"])
    found = [
        name for name in ("acme.x", "a-b.y.z", "acme", "acmex", "acme.", "x.acme.y") if re.fullmatch(pattern, name)
    ]
    assert found == ["acme.x", "a-b.y.z"]
