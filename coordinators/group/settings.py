"""The group coordinator's configuration as plain numbers."""

from attrs import frozen

from engine.config.resolve import BrokerSettings


@frozen
class GroupSettings:
    """Kafka's keys `group.*` and `offset*`; the defaults are Kafka's."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    offsets_retention_check_interval_ms: int = 600_000
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_heartbeats_per_second: int = 100
    consumer_max_size: int = 2**31 - 1
    consumer_assignment_interval_ms: int = 1_000
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"

    @classmethod
    def of(cls, settings: BrokerSettings) -> "GroupSettings":
        """What the broker's configuration says."""
        return cls(
            min_session_timeout_ms=settings.integer("group.min.session.timeout.ms"),
            max_session_timeout_ms=settings.integer("group.max.session.timeout.ms"),
            initial_rebalance_delay_ms=settings.integer("group.initial.rebalance.delay.ms"),
            max_size=settings.integer("group.max.size"),
            offset_metadata_max_bytes=settings.integer("offset.metadata.max.bytes"),
            offsets_retention_ms=settings.integer("offsets.retention.minutes") * 60_000,
            offsets_retention_check_interval_ms=settings.integer("offsets.retention.check.interval.ms"),
            consumer_session_timeout_ms=settings.integer("group.consumer.session.timeout.ms"),
            consumer_heartbeat_interval_ms=settings.integer("group.consumer.heartbeat.interval.ms"),
            consumer_heartbeats_per_second=settings.integer("group.consumer.heartbeats.per.second"),
            consumer_max_size=settings.integer("group.consumer.max.size"),
            consumer_assignment_interval_ms=settings.integer("group.consumer.assignment.interval.ms"),
            consumer_assignors=settings.items("group.consumer.assignors"),
            consumer_migration_policy=settings.text("group.consumer.migration.policy"),
        )
