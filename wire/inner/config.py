"""The broker keys of what callers of the other doors have in the broker from one request to the next."""

from engine.config.keys import ConfigKey, ConfigType, between

MEMBERS_MAX = "doors.max.members"
PRODUCERS_MAX = "doors.max.producers"

DOORS_KEYS = (
    ConfigKey(
        MEMBERS_MAX,
        ConfigType.INT,
        1_000,
        "Tidegate's own key. The most members of groups, and of share groups, that callers of HTTP and gRPC may each "
        "have on this node at one time; who asks for a further one is refused.",
        between(0, 100_000),
        dynamic=False,
    ),
    ConfigKey(
        PRODUCERS_MAX,
        ConfigType.INT,
        1_000,
        "Tidegate's own key. The most transactional producers that callers of HTTP and gRPC may have on this node at "
        "one time; who asks for a further one is refused.",
        between(0, 100_000),
        dynamic=False,
    ),
)
