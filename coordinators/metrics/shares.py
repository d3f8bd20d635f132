"""Figures of share groups: what was handed out and acknowledged, and how full the windows of their partitions are."""

from collections import Counter
from collections.abc import Iterator

from attrs import define, field

from coordinators.metrics.labels import BoundedLabels
from coordinators.share.acks import AckType
from coordinators.share.sharing import Sharing
from engine.metrics import Family

GAUGES = {
    "acquired": ("tidegate_share_in_flight", "Offsets that members of a share group have in hand."),
    "backed_off": ("tidegate_share_backoff", "Offsets of a share group that wait for another attempt."),
    "window": (
        "tidegate_share_window",
        "Offsets between the first that a share group has not finished and the last that was handed out.",
    ),
}


@define(eq=False)
class ShareMetrics:
    """A collector over the share partitions that this node leads. At most `group_limit` groups have a name."""

    sharing: Sharing
    group_limit: int
    _labels: BoundedLabels[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._labels = BoundedLabels(self.group_limit)

    def collect(self) -> Iterator[Family | None]:
        """Everything that is known on this node."""
        yield from self._counters()
        figures: dict[str, dict[str, float]] = {}
        lanes: dict[str, Counter[str]] = {}
        for share in self.sharing.all_shares():
            found = share.statistics()
            if not found.get("loaded"):
                continue
            found["window"] = found["end_offset"] - found["start_offset"]
            limit = share.rules.max_record_locks
            of_group = figures.setdefault(share.place.group_id, {**dict.fromkeys(GAUGES, 0), "fill": 0.0})
            for name in GAUGES:
                of_group[name] += found[name]
            if found["acquired"]:
                lanes.setdefault(share.place.group_id, Counter()).update(share.lanes_in_flight())
            of_group["fill"] = max(of_group["fill"], found["window"] / limit)
            yield None
        self._labels.update(figures)
        named = {group: each for group, each in figures.items() if self._labels.is_named(group)}
        for name, (family, meaning) in GAUGES.items():
            yield Family.gauge(family, meaning, [({"sharegroup": group}, each[name]) for group, each in named.items()])
        yield Family.gauge(
            "tidegate_share_in_flight_lane",
            "Offsets that members of a share group have in hand, by priority.",
            [
                ({"sharegroup": group, "lane": lane}, count)
                for group, counts in lanes.items()
                if group in named
                for lane, count in counts.items()
            ],
        )
        yield Family.gauge(
            "tidegate_share_window_fill_ratio",
            "How full the fullest window of a share group is (share.partition.max.record.locks): at 1 its partition is "
            "handed out no further.",
            [({"sharegroup": group}, each["fill"]) for group, each in named.items()],
        )

    def _counters(self) -> Iterator[Family]:
        counters = self.sharing.counters
        yield Family.counter(
            "tidegate_share_acknowledgements_total",
            "Offsets that members of share groups acknowledged, by how.",
            [({"type": kind.name.lower()}, counters.acks[kind]) for kind in AckType],
        )
        yield Family.counter(
            "tidegate_share_deliveries_total",
            "Offsets that were handed out to members of share groups, by which attempt it was.",
            [({"attempt": str(count)}, offsets) for count, offsets in enumerate(counters.deliveries) if offsets],
        )
        meaning = "Offsets that were taken back because their member said nothing of them in time."
        yield Family.counter("tidegate_share_lock_expiries_total", meaning, [({}, counters.lock_expiries)])
        meaning = "Offsets that were taken back from members who left, were lost, or were made to give them up."
        yield Family.counter("tidegate_share_released_total", meaning, [({}, counters.released)])
        meaning = "Offsets that were handed out as often as they may be, and not accepted."
        yield Family.counter("tidegate_share_exhausted_total", meaning, [({}, counters.exhausted)])
        meaning = "Records that were not handed out because their own time was over."
        yield Family.counter("tidegate_share_expired_total", meaning, [({}, counters.expired)])
        meaning = "Writes of the state of share partitions that failed."
        yield Family.counter("tidegate_share_failed_writes_total", meaning, [({}, counters.failed_writes)])
