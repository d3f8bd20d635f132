"""Medians over the rounds, ratios to Kafka, and whether each goal is met."""

import statistics
from collections.abc import Iterator

from attrs import frozen

from tools.bench.brokers import KAFKA, TIDEGATE, TIDEGATE_BEFORE, TIDEGATE_OS
from tools.bench.figures import kind_of
from tools.bench.results import Results
from tools.bench.rows import Row

OURS = (TIDEGATE, TIDEGATE_OS)
SATURATED = 0.85


@frozen
class Line:
    """One figure of one row: medians by broker, ratios and verdicts by our brokers."""

    row: Row
    figure: str
    medians: dict[str, float]

    @property
    def title(self) -> str:
        """The figure's name for people."""
        return kind_of(self.figure).title

    def ratio(self, broker: str) -> float | None:
        """Tidegate / Kafka; None without both, or where Kafka's is nothing."""
        ours, kafkas = self.medians.get(broker), self.medians.get(KAFKA)
        return ours / kafkas if ours is not None and kafkas else None

    def goal(self, broker: str) -> str:
        """The goal as text, empty where there is none."""
        goal = self.row.goal(self.figure)
        if goal is None or KAFKA not in self.row.brokers:
            return ""
        return f"{'≥' if kind_of(self.figure).more_is_better else '≤'} {goal.bound(broker):g}"

    def met(self, broker: str) -> bool | None:
        """Whether the ratio keeps to its goal; None where there is nothing to judge."""
        goal, ratio = self.row.goal(self.figure), self.ratio(broker)
        if goal is None or ratio is None:
            return None
        bound = goal.bound(broker)
        return ratio >= bound if kind_of(self.figure).more_is_better else ratio <= bound

    def absolute(self, broker: str) -> tuple[str, bool] | None:
        """An absolute goal of this figure as text, and whether it is met."""
        for goal in self.row.absolutes:
            if goal.figure == self.figure and broker in self.medians:
                more = bool(kind_of(self.figure).more_is_better)
                value = self.medians[broker]
                return f"{'≥' if more else '<'} {goal.bound:,g}", value >= goal.bound if more else value < goal.bound
        return None


def lines(results: Results, row: Row) -> Iterator[Line]:
    """The figures of a row that was measured on at least one broker, in the order in which they were found."""
    found = {name: figures for name in row.brokers if (figures := results.of(row.name, name))}
    names = dict.fromkeys(figure for rounds in found.values() for figures in rounds for figure in figures)
    for figure in names:
        medians = {
            broker: statistics.median(figures[figure] for figures in rounds if figure in figures)
            for broker, rounds in found.items()
            if any(figure in figures for figures in rounds)
        }
        yield Line(row, figure, medians)


def bound_by(results: Results, row: Row, broker: str) -> str:
    """Whose core is the limit: the broker's one busy thread, the client, or neither."""
    medians = {line.figure: line.medians[broker] for line in lines(results, row) if broker in line.medians}
    if "client_busy" not in medians:
        return ""
    thread, whole, client = (medians[name] for name in ("broker_thread_busy", "broker_busy", "client_busy"))
    if thread >= SATURATED:
        who = "a broker thread"
    elif client >= SATURATED and client > whole:
        who = "the client"
    elif whole + client >= 2 * SATURATED:
        who = "both cores"
    else:
        who = "nobody"
    return f"{who} (broker {whole:.2f}, its busiest thread {thread:.2f}, client {client:.2f} cores)"


def tally(results: Results, rows: tuple[Row, ...]) -> tuple[int, int]:
    """How many goals are met, of how many."""
    verdicts = [
        verdict
        for row in rows
        for line in lines(results, row)
        for broker in OURS
        for verdict in (line.met(broker), (line.absolute(broker) or (None, None))[1])
        if verdict is not None
    ]
    return sum(verdicts), len(verdicts)


def text_table(results: Results, rows: tuple[Row, ...]) -> str:
    """The table for a terminal."""
    head = (
        f"{'row':<24} {'figure':<34}{'tidegate':>12}{'-os':>12}{'kafka':>12}{'ratio':>8}{'goal':>8}{'os':>8}{'goal':>8}"
    )
    shown = [head]
    for row in rows:
        shown += [_text_line(line) for line in lines(results, row)]
        shown += [f"{row.name:<24} {broker}: {error}" for broker, error in results.errors(row.name).items()]
    met, judged = tally(results, rows)
    return "\n".join([*shown, f"{met} of {judged} goals met; ! marks a goal that is not"])


def _text_line(line: Line) -> str:
    digits = kind_of(line.figure).digits
    cells = [f"{line.medians[name]:,.{digits}f}" if name in line.medians else "" for name in (*OURS, KAFKA)]
    shown = f"{line.row.name:<24} {line.title:<34}" + "".join(f"{cell:>12}" for cell in cells)
    for broker in OURS:
        ratio = line.ratio(broker)
        mark = "!" if line.met(broker) is False else ""
        shown += f"{f'{ratio:.2f}{mark}' if ratio is not None else '':>8}{line.goal(broker):>8}"
    return shown.rstrip()


def before_table(results: Results, rows: tuple[Row, ...]) -> str:
    """Tidegate as it is against as it was, for a terminal; the figures that one way or the other is better."""
    shown = [f"{'row':<24} {'figure':<34}{'before':>12}{'now':>12}{'ratio':>8}"]
    for row in rows:
        earlier = results.of(row.name, TIDEGATE_BEFORE)
        for line in lines(results, row):
            kind = kind_of(line.figure)
            values = [figures[line.figure] for figures in earlier if line.figure in figures]
            if kind.more_is_better is None or not values or TIDEGATE not in line.medians:
                continue
            before, now = statistics.median(values), line.medians[TIDEGATE]
            cells = "".join(f"{f'{value:,.{kind.digits}f}':>12}" for value in (before, now))
            shown.append(f"{row.name:<24} {line.title:<34}{cells}{f'{now / before:.2f}' if before else '':>8}")
    return "\n".join(shown)
