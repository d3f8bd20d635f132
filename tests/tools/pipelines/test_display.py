"""The table that is redrawn while a query runs."""

import io

from rich.console import Console

from tools.pipelines.display import MOST, Display
from tools.pipelines.progress import Progress


def drawn(progress: Progress) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(Display(progress, console).render())
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_each_topic_with_offset_end_and_lag() -> None:
    progress = Progress("archive", quiet=True)
    progress.begin({"orders": {0: 0, 1: 0}, "pay": {0: 5}}, {"orders": {0: 1000, 1: 500}, "pay": {0: 5}})
    progress.observe({"orders": {0: 1000}}, {}, rows=1000)
    progress.doing, progress.tasks = "commit 3", (2, 6)
    head, titles, orders, pay = drawn(progress).splitlines()
    assert "archive 1,000 rows" in head
    assert "500 behind the end" in head
    assert "commit 3  tasks 2/6" in head
    assert titles.split() == ["topic", "offset", "end", "behind", "rows/s"]
    assert orders.split()[:4] == ["orders", "1,000", "1,500", "500"]
    assert pay.split()[:4] == ["pay", "5", "5", "0"]


def test_before_anything_is_known_there_is_a_line() -> None:
    assert "0 rows, 0/s" in drawn(Progress("usage", quiet=True))


def test_of_very_many_topics_those_furthest_behind() -> None:
    progress = Progress("archive", quiet=True)
    progress.begin({f"t{n}": {0: 0} for n in range(30)}, {f"t{n}": {0: n} for n in range(30)})
    lines = drawn(progress).splitlines()
    assert lines[2].split()[0] == "t29"
    assert lines[-1].strip() == f"and {30 - MOST} more topics"


def test_at_the_end_it_stays_without_a_spinner() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, highlight=False)
    progress = Progress("archive", quiet=True)
    display = Display(progress, console)
    display.start()
    display.say("a [line] of its own")
    progress.observe({"a": {0: 7}}, {"a": {0: 7}}, rows=7)
    progress.doing = "commit 1"
    display.stop()
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert "a [line] of its own" in written
    assert "7 rows" in written
    assert "commit 1" not in written.rpartition("7 rows")[2]
