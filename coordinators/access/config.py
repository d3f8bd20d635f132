"""The broker keys of rights: whether anybody is asked for them, who needs none, and what is written down."""

from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, between

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def _principals(text: str) -> bool:
    return all(_is_principal(each) for each in text.split(";") if each.strip())


def _is_principal(text: str) -> bool:
    kind, separator, name = text.strip().partition(":")
    return bool(kind and separator and name)


ACCESS_KEYS = (
    ConfigKey(
        "authorizer.enable",
        ConfigType.BOOLEAN,
        False,
        "Tidegate's own key. Whether callers are asked for rights: then nobody may do anything that no rule allows, "
        "but for `super.users`.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "authorizer.class.name",
        ConfigType.STRING,
        "",
        f"Kafka's way to say `authorizer.enable=true`: `{STANDARD}`, whose rules are the ones followed here. No class "
        "is ever loaded.",
        Rule(lambda name: name in ("", STANDARD), f"empty, or {STANDARD}"),
        dynamic=False,
    ),
    ConfigKey(
        "super.users",
        ConfigType.STRING,
        "",
        "Principals that may do everything, separated by semicolons: `User:admin;User:backup`. Names are taken "
        "literally: `User:*` is a user of that name.",
        Rule(_principals, "principals such as User:admin, separated by semicolons"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "allow.everyone.if.no.acl.found",
        ConfigType.BOOLEAN,
        False,
        "Whether everybody may do everything to a resource that no rule is about, whoever the rule is for.",
        dynamic=False,
    ),
    ConfigKey(
        "audit.max.per.second",
        ConfigType.INT,
        100,
        "Tidegate's own key. How many lines a second the audit log takes; what is left out is counted, and the next "
        "line tells how much it was. The same of the same caller within a second is one line.",
        between(1, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "audit.max.per.second.per.principal",
        ConfigType.INT,
        50,
        "Tidegate's own key. How many of these lines may be of one principal, so that none fills the log alone.",
        between(1, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "audit.file.path",
        ConfigType.STRING,
        "",
        "Tidegate's own key. A file to which the lines of the audit log are added, one JSON object each; relative to "
        "the data directory. Without one they are in the program's own log, under `tidegate.audit`.",
        dynamic=False,
    ),
    ConfigKey(
        "audit.file.max.bytes",
        ConfigType.LONG,
        100 * 1024 * 1024,
        "Tidegate's own key. How large that file may get; then it is kept under its name with `.1`, and another begun.",
        between(1024, 2**53),
        dynamic=False,
    ),
    ConfigKey(
        "audit.file.max.count",
        ConfigType.INT,
        10,
        "Tidegate's own key. How many such files are kept, that which is written to included; the oldest goes.",
        between(1, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "audit.topic.enable",
        ConfigType.BOOLEAN,
        False,
        "Tidegate's own key. Whether the lines of the audit log are written to the topic `__audit`, as JSON. Reading "
        "it needs READ like any other; nobody but the broker writes to it.",
        dynamic=False,
    ),
    ConfigKey(
        "audit.topic.retention.ms",
        ConfigType.LONG,
        7 * 86_400_000,
        "Tidegate's own key. How long the topic `__audit` keeps them, as it is made.",
        between(60_000, 2**53),
        dynamic=False,
    ),
)


def super_users(text: str) -> frozenset[str]:
    """The principals that the key names."""
    return frozenset(each.strip() for each in text.split(";") if each.strip())
