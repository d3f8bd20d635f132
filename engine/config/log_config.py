"""From a topic's config to what its logs obey."""

from engine.config.resolve import BrokerSettings, TopicConfig
from engine.log.types import LogConfig


def log_config(config: TopicConfig, settings: BrokerSettings) -> LogConfig:
    """The part of a topic's config that the log engine obeys, as plain numbers."""
    policy = config["cleanup.policy"]
    assert isinstance(policy, tuple)
    ratio = config["min.cleanable.dirty.ratio"]
    assert isinstance(ratio, float)
    return LogConfig(
        segment_bytes=config.integer("segment.bytes"),
        segment_ms=config.integer("segment.ms"),
        index_interval_bytes=config.integer("index.interval.bytes"),
        max_message_bytes=config.integer("max.message.bytes"),
        max_message_records=config.integer("max.message.records"),
        validates_structure=config.text("message.validation") == "structure",
        timestamp_type=config.text("message.timestamp.type"),
        timestamp_before_max_ms=config.integer("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=config.integer("message.timestamp.after.max.ms"),
        compression_type=config.text("compression.type"),
        compression_gzip_level=config.integer("compression.gzip.level"),
        compression_lz4_level=config.integer("compression.lz4.level"),
        compression_zstd_level=config.integer("compression.zstd.level"),
        cleanup_delete="delete" in policy,
        cleanup_compact="compact" in policy,
        retention_ms=config.integer("retention.ms"),
        retention_bytes=config.integer("retention.bytes"),
        file_delete_delay_ms=config.integer("file.delete.delay.ms"),
        delete_retention_ms=config.integer("delete.retention.ms"),
        min_compaction_lag_ms=config.integer("min.compaction.lag.ms"),
        max_compaction_lag_ms=config.integer("max.compaction.lag.ms"),
        min_cleanable_dirty_ratio=ratio,
        producer_id_expiration_ms=settings.integer("producer.id.expiration.ms"),
    )
