"""Reports as HTML: whole, safe, and without anything from elsewhere."""

from html.parser import HTMLParser

from tools.pipelines.charts import Span, Spread
from tools.pipelines.report import Column, Report
from tools.pipelines.scales import count_text, duration_text

VOID = {"meta", "line", "circle", "polyline", "polygon"}
START = 1_760_000_400.0


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
    report = Report("Usage <b>", "of & all", written_s=START)
    report.figures(("records", "3", "of <i>"))
    report.heading("Records", "per minute")
    series = {"orders": [(START, 3.0), (START + 60, 7.0)]}
    report.lines(series, "records per second")
    report.stacks(series, 60.0, "records")
    report.pair([("publish", series), ("hold", series)], "time", duration_text)
    report.heat(series, 60.0)
    report.spreads([Spread("orders", 0, 1, 2, 3, 4)], duration_text)
    report.spans([("orders-0", [Span("hold", 0, 1)])], ("hold",), duration_text)
    columns = (Column("key", code=True), Column("count", count_text, bar=True))
    report.table(columns, [("<script>", 10), ("b", 5), (None, None)])
    report.nothing("No <window> yet")
    return report.html()


def test_it_is_whole_and_loads_nothing() -> None:
    balance = Balance()
    balance.feed(example())
    assert balance.open == []
    for elsewhere in ("http", "src=", "@import", "url(", "<link", "<script"):
        assert elsewhere not in example()


def test_what_comes_from_records_is_escaped() -> None:
    page = example()
    assert "&lt;script&gt;" in page
    assert "Usage &lt;b&gt;" in page
    assert "of &lt;i&gt;" in page
    assert "No &lt;window&gt; yet" in page


def test_bars_are_shares_of_the_largest() -> None:
    page = example()
    assert "--share: 100.0%" in page
    assert "--share: 50.0%" in page
    assert "--share: 0.0%" in page


def test_light_and_dark_have_all_colours() -> None:
    page = example()
    light, dark = page.split("prefers-color-scheme: dark")
    assert all(f"--c{number}: #" in light and f"--c{number}: #" in dark for number in range(8))


def test_it_says_when_it_was_written() -> None:
    assert "Written 2025-10-09 09:00:00 UTC" in example()
