"""The parts of a topic's config: what its logs obey, and what its stages obey."""

from engine.config.resolve import BrokerSettings, TopicConfig
from engine.log.types import LogConfig
from engine.stage.config import ExtensionConfig
from engine.stage.headers import FOREVER_MS


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


def extension_config(config: TopicConfig) -> ExtensionConfig:
    """The part of a topic's config that delay, priority and expiry obey, as plain numbers."""
    enable = config["extensions.enable"]
    assert isinstance(enable, bool)
    weights = config["priority.weights"]
    assert isinstance(weights, tuple)
    policy = config["cleanup.policy"]
    assert isinstance(policy, tuple)
    return ExtensionConfig(
        extensions_enable=enable,
        extensions_max_decompressed_bytes=config.integer("extensions.max.decompressed.bytes"),
        extensions_max_records=config.integer("extensions.max.records"),
        stage_max_bytes=config.integer("stage.max.bytes"),
        delay_max_ms=config.integer("delay.max.ms"),
        delay_fate_retention_ms=config.integer("delay.fate.retention.ms"),
        priority_enable=config.text("priority.enable"),
        priority_weights=tuple(int(weight) for weight in weights),
        priority_policy=config.text("priority.policy"),
        priority_starvation_ms=config.integer("priority.starvation.ms"),
        priority_fetch_max_records=config.integer("priority.fetch.max.records"),
        # As with the header, so that a time and this together fit 64 bits.
        message_ttl_ms=min(config.integer("message.ttl.ms"), FOREVER_MS),
        expiry_policy=config.text("expiry.policy"),
        dead_letter_topic=config.text("dead.letter.topic"),
        cleanup_compact="compact" in policy,
    )
