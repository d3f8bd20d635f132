"""Figures of quotas: who was kept waiting, how often and for how long."""

from collections.abc import Iterator

from attrs import define

from coordinators.access.quotas.meters import Account
from coordinators.access.quotas.quotas import Quotas
from engine.metrics import Family


@define(eq=False)
class QuotaMetrics:
    """A collector over the quotas of this node; of single clients and addresses those that waited longest are told."""

    quotas: Quotas
    limit: int

    def collect(self) -> Iterator[Family]:
        """Since the start, by quota."""
        meters = sorted(self.quotas.meters.items())
        yield Family.gauge(
            "tidegate_quota_entities", "Users, client ids and addresses with quotas.", [({}, len(self.quotas))]
        )
        yield Family.counter(
            "tidegate_quota_throttled_requests_total",
            "Requests, or connections, that went beyond a quota, by quota.",
            [({"quota": key}, meter.throttled) for key, meter in meters],
        )
        yield Family.counter(
            "tidegate_quota_throttled_seconds_total",
            "How long clients were told to wait for that, in sum.",
            [({"quota": key}, meter.throttled_s) for key, meter in meters],
        )
        yield Family.gauge(
            "tidegate_quota_client_throttled_seconds",
            "The same by who was told, of those in use: user and client id as far as the quota tells them apart; of "
            "connection_creation_rate the address stands as client id. The longest of them, metrics.group.limit.",
            [
                ({"quota": key, "user": account.name[0], "client_id": account.name[1]}, account.throttled_s)
                for key, account in self._longest()
            ],
        )

    def _longest(self) -> list[tuple[str, Account]]:
        waited = [
            (key, account)
            for key, meter in self.quotas.meters.items()
            for account in meter.accounts()
            if account.throttled
        ]
        return sorted(waited, key=lambda each: -each[1].throttled_s)[: self.limit]
