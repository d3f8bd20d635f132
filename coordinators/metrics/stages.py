"""Figures of stages: what waits and until when, what is ready in which lane, what was released and how late."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import define, field

from coordinators.metrics.labels import OTHER, BoundedLabels
from coordinators.topics import Topic, Topics
from engine.ids import TopicId
from engine.metrics import Family, Histogram, Labels
from engine.partition.due_releases import LATENESS_BOUNDS_MS
from engine.partition.partition import stages_of
from engine.partition.partitions import Partitions
from engine.partition.staging import Staging
from engine.stage.headers import PRIORITIES

SLICE_TOPICS = 50
_MINUTE_MS = 60_000
DUE_WITHIN = {"1m": _MINUTE_MS, "1h": 60 * _MINUTE_MS, "1d": 24 * 60 * _MINUTE_MS, "later": None}
_EDGES_MS = [span for span in DUE_WITHIN.values() if span is not None]
_BOUNDS_S = tuple(bound / 1000 for bound in LATENESS_BOUNDS_MS)

# By their names in `Counters`.
_COUNTED = {
    "staged": ("tidegate_staged_records_total", "Records that were staged: delayed, in lanes, or with either."),
    "released": ("tidegate_released_records_total", "Staged records that were released to their partition's log."),
    "expired": ("tidegate_expired_records_total", "Staged records that expired before they could be read."),
    "dead_lettered": ("tidegate_dead_letters_total", "Expired records that were written to a dead-letter topic."),
    "cancelled": ("tidegate_cancelled_records_total", "Delayed records that were cancelled."),
    "replaced": ("tidegate_replaced_records_total", "Delayed records that another of the same schedule id replaced."),
    "cancelled_late": ("tidegate_late_cancels_total", "Cancels that came when their record had gone or was due."),
    "cancelled_unknown": ("tidegate_unknown_cancels_total", "Cancels of a schedule id that nothing is known of."),
}
_PENDING = {
    "records": ("tidegate_stage_pending_records", "Records in stages, waiting for their time or for a reader."),
    "bytes": ("tidegate_stage_pending_bytes", "Bytes of records in stages (stage.max.bytes)."),
    "dead_letters": ("tidegate_stage_dead_letters", "Expired records on their way to a dead-letter topic."),
}


def _zeros() -> list[int]:
    return [0] * len(PRIORITIES)


@define(eq=False)
class Totals:
    """What was counted in stages; it only grows, and stays when they are gone."""

    counted: dict[str, int] = field(factory=lambda: dict.fromkeys(_COUNTED, 0))
    lateness: list[int] = field(factory=lambda: [0] * (len(LATENESS_BOUNDS_MS) + 1))
    lateness_sum_ms: int = 0

    def add_stage(self, staging: Staging) -> None:
        """Count a stage in."""
        counters, lateness = staging.stage.state.counters, staging.due.lateness
        for name in _COUNTED:
            self.counted[name] += getattr(counters, name)
        self._add_lateness(lateness.counts, lateness.sum_ms)

    def add(self, other: "Totals") -> None:
        """Count what others have counted in."""
        for name, value in other.counted.items():
            self.counted[name] += value
        self._add_lateness(other.lateness, other.lateness_sum_ms)

    def _add_lateness(self, counts: Sequence[int], sum_ms: int) -> None:
        self.lateness = [a + b for a, b in zip(self.lateness, counts, strict=True)]
        self.lateness_sum_ms += sum_ms

    def histogram(self) -> Histogram:
        """How late releases were, in seconds."""
        histogram = Histogram(_BOUNDS_S)
        histogram.counts, histogram.total = list(self.lateness), self.lateness_sum_ms / 1000
        return histogram


@define(eq=False)
class Figures:
    """The stages of a topic, or of several."""

    totals: Totals = field(factory=Totals)
    pending: dict[str, int] = field(factory=lambda: dict.fromkeys(_PENDING, 0))
    due: list[int] = field(factory=lambda: [0] * len(DUE_WITHIN))
    ready: list[int] = field(factory=_zeros)
    starved_turns: list[int] = field(factory=_zeros)

    def see(self, staging: Staging) -> None:
        """Take a stage into account, as it is now."""
        state, clock = staging.stage.state, staging.stage.clock
        self.totals.add_stage(staging)
        self.pending["records"] += len(state.table)
        self.pending["bytes"] += state.table.bytes
        self.pending["dead_letters"] += len(state.dead_letters)
        for wheel, now_ms in ((state.steady, clock.now_ms()), (state.wall, clock.wall_ms())):
            if len(wheel):
                _add(self.due, wheel.histogram([now_ms + edge for edge in _EDGES_MS]))
        if state.prioritised:
            lanes = state.lanes.statistics(clock.now_ms())
            _add(self.ready, [lane.ready for lane in lanes])
            _add(self.starved_turns, [lane.starved_turns for lane in lanes])

    def add(self, other: "Figures") -> None:
        """Those of other topics, too."""
        self.totals.add(other.totals)
        for name, value in other.pending.items():
            self.pending[name] += value
        for own, others in (
            (self.due, other.due),
            (self.ready, other.ready),
            (self.starved_turns, other.starved_turns),
        ):
            _add(own, others)


def _add(counts: list[int], more: Sequence[int]) -> None:
    counts[:] = [a + b for a, b in zip(counts, more, strict=True)]


@define(eq=False)
class StageMetrics:
    """A collector over all stages. At most `topic_limit` topics have a name."""

    topics: Topics
    partitions: Partitions
    topic_limit: int
    _labels: BoundedLabels[TopicId] = field(init=False)
    _others: dict[TopicId, Totals] = field(factory=dict, init=False)
    _gone: Totals = field(factory=Totals, init=False)

    def __attrs_post_init__(self) -> None:
        self._labels = BoundedLabels(self.topic_limit)

    def collect(self) -> Iterator[Family | None]:
        """Everything about stages."""
        rows: list[tuple[Labels, Figures]] = []
        for _ in self._reckon(rows):
            yield None
        for name, (metric, meaning) in _PENDING.items():
            yield Family.gauge(metric, meaning, [(labels, figures.pending[name]) for labels, figures in rows])
        yield Family.gauge(
            "tidegate_stage_due_records",
            "Records in stages by when their time comes, or ends: within a minute, an hour, a day, or later. What was "
            "cancelled counts until then.",
            _spread(rows, "within", DUE_WITHIN, lambda each: each.due),
        )
        yield Family.gauge(
            "tidegate_stage_ready_records",
            "Records in the lanes of prioritised partitions.",
            _spread(rows, "lane", PRIORITIES, lambda each: each.ready),
        )
        yield Family.counter(
            "tidegate_lane_starved_turns_total",
            "Turns that a lane was given because it had starved (priority.starvation.ms).",
            _spread(rows, "lane", PRIORITIES, lambda each: each.starved_turns),
        )
        for name, (metric, meaning) in _COUNTED.items():
            yield Family.counter(metric, meaning, [(labels, each.totals.counted[name]) for labels, each in rows])
        yield Family.histogram(
            "tidegate_release_lateness_seconds",
            "How long after their time delayed records were released.",
            ((labels, figures.totals.histogram()) for labels, figures in rows),
        )

    def _reckon(self, rows: list[tuple[Labels, Figures]]) -> Iterator[None]:
        """Fill the rows, with a moment for others after every stage."""
        staging: list[tuple[Topic, list[Staging]]] = []
        for walked, topic in enumerate(list(self.topics.view), 1):
            if stages := self._stages(topic):
                staging.append((topic, stages))
            if walked % SLICE_TOPICS == 0:
                yield
        for topic_id in self._labels.update(topic.topic_id for topic, _ in staging):
            self._gone.add(self._others.pop(topic_id, Totals()))
        # Asked now: another scrape may find a topic gone meanwhile.
        named = {topic.topic_id for topic, _ in staging if self._labels.is_named(topic.topic_id)}
        together = Figures()
        others: dict[TopicId, Totals] = {}
        for topic, stages in staging:
            figures = Figures()
            for each in stages:
                figures.see(each)
                yield
            if topic.topic_id in named:
                rows.append(({"topic": topic.name}, figures))
            else:
                others[topic.topic_id] = figures.totals
                together.add(figures)
        self._others = others
        together.totals.add(self._gone)
        if others or any(self._gone.counted.values()):
            rows.append(({"topic": OTHER}, together))

    def _stages(self, topic: Topic) -> list[Staging]:
        return stages_of(self.partitions.of_topic(topic.topic_id))


def _spread(
    rows: Sequence[tuple[Labels, Figures]],
    label: str,
    names: Iterable[str],
    values: Callable[[Figures], Sequence[int]],
) -> Iterator[tuple[Labels, float]]:
    """Several values for each row, told apart by a label."""
    for labels, figures in rows:
        for name, value in zip(names, values(figures), strict=True):
            yield {**labels, label: name}, value
