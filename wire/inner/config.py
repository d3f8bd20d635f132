"""The broker keys of what callers of the other doors have in the broker from one request to the next."""

from engine.config.keys import ConfigKey, ConfigType, between

MEMBERS_MAX = "doors.max.members"
PRODUCERS_MAX = "doors.max.producers"
NOT_COUNTED = "Those whom nobody asks (`User:ANONYMOUS`) are not counted apart."

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
        f"{MEMBERS_MAX}.per.principal",
        ConfigType.INT,
        250,
        f"Tidegate's own key. The most members of groups, and of share groups, of one principal among `{MEMBERS_MAX}`: "
        f"so nobody takes all places. {NOT_COUNTED}",
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
    ConfigKey(
        f"{PRODUCERS_MAX}.per.principal",
        ConfigType.INT,
        250,
        f"Tidegate's own key. The most transactional producers of one principal among `{PRODUCERS_MAX}`. {NOT_COUNTED}",
        between(0, 100_000),
        dynamic=False,
    ),
)
