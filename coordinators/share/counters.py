"""What share partitions count, as plain integers: of one, and added up over all."""

from attrs import Factory, define

from coordinators.share.acks import AckType

COUNTED_DELIVERIES = 25
"""As many as `group.share.max.delivery.count.limit` can be."""


@define
class ShareCounters:
    """One for all share partitions of a node."""

    acks: list[int] = Factory(lambda: [0] * len(AckType))
    """Offsets by the type of their acknowledgement."""
    deliveries: list[int] = Factory(lambda: [0] * (COUNTED_DELIVERIES + 1))
    """Offsets handed out, by which time of their own it was."""
    lock_expiries: int = 0
    released: int = 0
    """Offsets taken from members who closed, were lost, or whose records somebody else released."""
    exhausted: int = 0
    """Offsets that were delivered as often as they may be."""
    expired: int = 0
    """Records that were not handed out because their own time was over."""
    skipped: int = 0
    """Offsets that were finished unseen: gaps, markers, aborted transactions, other lanes."""
    failed_writes: int = 0

    def delivered(self, count: int, offsets: int) -> None:
        """So many offsets were handed out, each for the `count`th time."""
        self.deliveries[min(count, COUNTED_DELIVERIES)] += offsets

    def statistics(self) -> dict[str, int]:
        """All of them by name."""
        return {
            **{f"acks_{kind.name.lower()}": self.acks[kind] for kind in AckType},
            **{f"deliveries_{count}": offsets for count, offsets in enumerate(self.deliveries) if offsets},
            "lock_expiries": self.lock_expiries,
            "released": self.released,
            "exhausted": self.exhausted,
            "expired": self.expired,
            "skipped": self.skipped,
            "failed_writes": self.failed_writes,
        }
