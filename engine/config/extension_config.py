"""From a topic's config to what its stages obey."""

from engine.config.resolve import TopicConfig
from engine.stage.config import ExtensionConfig
from engine.stage.headers import FOREVER_MS


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
