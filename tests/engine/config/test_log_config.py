"""What the log obeys is what the topic's config says."""

from engine.config.log_config import log_config
from engine.config.resolve import BrokerSettings
from engine.log.types import LogConfig


def test_the_defaults_are_the_logs_own() -> None:
    settings = BrokerSettings()
    assert log_config(settings.topic_defaults, settings) == LogConfig()


def test_settings_reach_the_log() -> None:
    settings = BrokerSettings({"producer.id.expiration.ms": 5, "log.roll.hours": 1})
    config = settings.topic_config(
        {
            "cleanup.policy": "compact",
            "segment.bytes": "2000000",
            "min.cleanable.dirty.ratio": "1",
            "message.timestamp.type": "LogAppendTime",
            "compression.type": "zstd",
            "compression.zstd.level": "7",
        }
    )
    expected = LogConfig(
        segment_bytes=2_000_000,
        segment_ms=3_600_000,
        timestamp_type="LogAppendTime",
        compression_type="zstd",
        compression_zstd_level=7,
        cleanup_delete=False,
        cleanup_compact=True,
        min_cleanable_dirty_ratio=1.0,
        producer_id_expiration_ms=5,
    )
    assert log_config(config, settings) == expected
