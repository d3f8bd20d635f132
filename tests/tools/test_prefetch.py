"""The settings that docs/priority.md advises were run, and do what it says."""

import re

from tests.tidegate.processes import ROOT
from tidegate import testing
from tools.bench.prefetch import SETTINGS, measure


def test_what_the_page_advises_keeps_the_prefetch_small() -> None:
    page = (ROOT / "docs" / "priority.md").read_text()
    (row,) = re.findall(r"^\| confluent-kafka.*$", page, re.MULTILINE)
    advised = dict(re.findall(r"`([a-z.]+)=(\d+)`", row))
    assert advised == {name: str(value) for name, value in SETTINGS["16 KiB at a time"].items()}
    with testing.broker({"http.port": "0"}, timeout_s=60) as broker:
        found = measure(broker, "advised", advised, 4_000, 0)
    assert found["criticals"] > 0
    # A fetch that is read, and one behind it; by its defaults there would be thousands.
    assert found["before_max"] <= 300


def test_all_that_was_measured_stands_on_the_page() -> None:
    page = (ROOT / "docs" / "priority.md").read_text()
    rows = re.findall(r"^\| (?:defaults|and |`queued).*$", page, re.MULTILINE)
    assert len(rows) == len(SETTINGS)
