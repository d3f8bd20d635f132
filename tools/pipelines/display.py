"""Progress as a table that is redrawn in place, on standard error of a terminal."""

from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tools.pipelines.progress import Progress

PER_SECOND = 4
MOST = 20
"""Topics that are shown; those that are furthest behind come first if there are more."""


class Display:
    """Draws a `Progress` until it is stopped."""

    def __init__(self, progress: "Progress", console: Console | None = None) -> None:
        self._progress = progress
        # Results go to standard output as they are, whatever it is.
        self._console = console or Console(stderr=True, highlight=False)
        self._spinner = Spinner("dots")
        self._over = False
        self._live = Live(
            console=self._console,
            get_renderable=self.render,
            refresh_per_second=PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=True,
        )

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        self._over = True
        self._live.stop()

    def say(self, line: str) -> None:
        self._live.console.print(f"[bold]{self._progress.pipeline}[/bold] {escape(line)}", soft_wrap=True)

    def render(self) -> RenderableType:
        """What is drawn now."""
        topics = self._progress.topics()
        if not topics:
            return self._head()
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("topic", overflow="ellipsis", no_wrap=True)
        for name in ("offset", "end", "behind", "rows/s"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", width=24)
        shown = topics if len(topics) <= MOST else sorted(topics, key=lambda topic: -topic.lag)[:MOST]
        for each in shown:
            table.add_row(
                each.name,
                f"{each.at:,}",
                f"{each.end:,}",
                Text(f"{each.lag:,}", style="yellow" if each.lag else "green"),
                f"{each.per_second:,.0f}",
                ProgressBar(1.0, each.share, 24, complete_style="cyan", finished_style="green"),
            )
        rest = [Text(f"and {len(topics) - MOST} more topics", style="dim")] if len(topics) > MOST else []
        return Group(self._head(), table, *rest)

    def _head(self) -> RenderableType:
        at = self._progress
        told = f"{at.rows:,} rows, {at.rows_per_second:,.0f}/s, {at.total_lag:,} behind the end, {at.seconds:.0f} s"
        done, tasks = at.tasks
        doing = (at.doing and f"  {at.doing}") + (f"  tasks {done}/{tasks}" if tasks else "")
        text = Text.assemble((at.pipeline, "bold"), " ", told, ("" if self._over else doing, "dim"))
        text.no_wrap, text.overflow = True, "ellipsis"
        if self._over:
            return text
        line = Table.grid(padding=(0, 1))
        line.add_row(self._spinner, text)
        return line
