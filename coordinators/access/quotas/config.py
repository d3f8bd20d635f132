"""The broker keys of quotas: over how long a rate is taken."""

from engine.config.keys import ConfigKey, ConfigType, at_least

QUOTA_KEYS = (
    ConfigKey(
        "quota.window.num",
        ConfigType.INT,
        11,
        "How many samples the rates of quotas are taken over, the one under way included.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "quota.window.size.seconds",
        ConfigType.INT,
        1,
        "How long each of these samples is, in seconds. It is also the longest that a client waits at a time for "
        "`request_percentage`.",
        at_least(1),
        dynamic=False,
    ),
)
