"""What the log obeys is what the topic's config says."""

from attrs import asdict

from engine.config.resolve import BrokerSettings
from engine.config.topic_extensions import EXTENSIONS
from engine.config.topic_parts import extension_config, log_config
from engine.log.types import LogConfig
from engine.stage.config import ExtensionConfig
from engine.stage.headers import FOREVER_MS


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


def test_the_defaults_are_the_stages_own() -> None:
    assert extension_config(BrokerSettings().topic_defaults) == ExtensionConfig()


def test_every_key_has_its_field() -> None:
    fields = {name.replace("_", ".") for name in asdict(ExtensionConfig())}
    assert fields == {key.name for key in EXTENSIONS} | {"cleanup.compact"}


def test_settings_reach_the_stage() -> None:
    overrides = {
        "extensions.enable": "false",
        "extensions.max.decompressed.bytes": "2048",
        "stage.max.bytes": "-1",
        "delay.max.ms": "1",
        "delay.fate.retention.ms": "2",
        "priority.enable": "false",
        "priority.weights": "5,4,3,2,1",
        "priority.policy": "strict",
        "priority.starvation.ms": "3",
        "priority.fetch.max.records": "4",
        "message.ttl.ms": "5",
        "expiry.policy": "dlq",
        "dead.letter.topic": "letters",
        "cleanup.policy": "compact",
    }
    assert extension_config(BrokerSettings().topic_config(overrides)) == ExtensionConfig(
        extensions_enable=False,
        extensions_max_decompressed_bytes=2048,
        stage_max_bytes=-1,
        delay_max_ms=1,
        delay_fate_retention_ms=2,
        priority_enable="false",
        priority_weights=(5, 4, 3, 2, 1),
        priority_policy="strict",
        priority_starvation_ms=3,
        priority_fetch_max_records=4,
        message_ttl_ms=5,
        expiry_policy="dlq",
        dead_letter_topic="letters",
        cleanup_compact=True,
    )


def test_a_time_to_live_for_ever_still_fits_a_sum() -> None:
    config = BrokerSettings().topic_config({"message.ttl.ms": str(2**63 - 1)})
    assert extension_config(config).message_ttl_ms == FOREVER_MS
