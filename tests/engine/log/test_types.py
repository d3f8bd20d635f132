"""The log's defaults are Kafka's, but for the segment size."""

from engine.log.types import LogConfig


def test_defaults() -> None:
    config = LogConfig()
    assert config.segment_bytes == 64 * 1024 * 1024
    assert config.max_message_bytes == 1_048_588
    assert config.retention_ms == config.segment_ms == 604_800_000
    assert config.timestamp_after_max_ms == 3_600_000
    assert config.cleanup_delete
    assert not config.cleanup_compact
