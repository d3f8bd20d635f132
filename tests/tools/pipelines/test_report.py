"""Reports as HTML: whole, safe, with round numbers on their axes."""

from html.parser import HTMLParser

import pytest

from tools.pipelines.report import Report, nice_top

VOID = {"meta", "line", "circle", "polyline"}


class Balance(HTMLParser):
    """Fails on tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def example() -> str:
    report = Report("Usage <b>", "of & all")
    report.heading("Records", "per minute")
    report.lines({"orders": [(1_760_000_400, 3.0), (1_760_000_460, 7.0)], "empty": []}, "ms")
    report.lines({})
    report.table(("key", "count"), [("<script>", 10), ("b", 5), (None, None)], bar=1)
    report.table(("key",), [])
    return report.html()


def test_it_is_whole_and_loads_nothing() -> None:
    balance = Balance()
    balance.feed(example())
    assert balance.open == []
    assert "http" not in example()
    assert "src=" not in example()


def test_what_comes_from_records_is_escaped() -> None:
    assert "<script>" not in example()
    assert "&lt;script&gt;" in example()
    assert "Usage &lt;b&gt;" in example()


def test_charts_and_bars() -> None:
    page = example()
    assert page.count("<polyline") == 1
    assert "2025-10-09 09:00" in page
    assert "--share: 50.0%" in page


@pytest.mark.parametrize(
    ("value", "wanted"), [(0, 1), (0.3, 0.4), (7, 8), (10, 10), (11, 20), (990, 1000), (4100, 5000)]
)
def test_axes_end_at_round_numbers(value: float, wanted: float) -> None:
    assert nice_top(value) == pytest.approx(wanted)
