"""The transaction coordinator's configuration as plain numbers."""

from attrs import frozen

from engine.config.resolve import BrokerSettings


@frozen
class TransactionSettings:
    """Kafka's keys `transaction*`; the defaults are Kafka's."""

    max_timeout_ms: int = 900_000
    expiration_ms: int = 7 * 24 * 3_600_000
    expiration_check_interval_ms: int = 3_600_000
    verifies_partitions: bool = True
    max_transactional_ids: int = 100_000

    @classmethod
    def of(cls, settings: BrokerSettings) -> "TransactionSettings":
        """What the broker's configuration says."""
        return cls(
            max_timeout_ms=settings.integer("transaction.max.timeout.ms"),
            expiration_ms=settings.integer("transactional.id.expiration.ms"),
            expiration_check_interval_ms=settings.integer("transaction.remove.expired.transaction.cleanup.interval.ms"),
            max_transactional_ids=settings.integer("max.transactional.ids"),
            verifies_partitions=settings.flag("transaction.partition.verification.enable"),
        )
