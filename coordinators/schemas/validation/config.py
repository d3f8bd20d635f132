"""The broker's key of validation; those of topics are in engine/config/topic_schemas.py."""

from engine.config.keys import ConfigKey, ConfigType, between

VALIDATION_KEYS = (
    ConfigKey(
        "schema.validation.cache.size",
        ConfigType.INT,
        1000,
        "Tidegate's own key. How many schemas are kept ready to hold records against (`schema.validation`); one that "
        "was pushed out is read again when a record names it.",
        between(1, 100_000),
        dynamic=False,
    ),
)
