"""The topic keys of schemas: whether records are held against them. The last four are Confluent's."""

from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, one_of

LEVELS = ("none", "id", "full")
STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
LONGEST_SUBJECT = 1_024


def _strategy() -> Rule:
    # Java's clients say the whole name of a class.
    return Rule(lambda value: value.rpartition(".")[2] in STRATEGIES, "one of " + ", ".join(STRATEGIES))


def _subject() -> Rule:
    return Rule(lambda value: len(value) <= LONGEST_SUBJECT, f"at most {LONGEST_SUBJECT} characters")


def _level(name: str, part: str) -> ConfigKey:
    return ConfigKey(
        name,
        ConfigType.STRING,
        "none",
        f"Tidegate's own key. How {part} are held against the schemas of the registry. `id`: each must name a schema "
        "that is registered under the topic's subject; `full`: its bytes must be what that schema describes. A batch "
        "with a record that does not fit is refused whole, naming the record and the reason.",
        one_of(*LEVELS),
        importance=Importance.HIGH,
    )


def _confluent(part: str) -> tuple[ConfigKey, ConfigKey]:
    own = "schema.validation" if part == "value" else "schema.key.validation"
    return (
        ConfigKey(
            f"confluent.{part}.schema.validation",
            ConfigType.BOOLEAN,
            False,
            f"Confluent's key: `true` is `{own}=id`, where that is `none`.",
        ),
        ConfigKey(
            f"confluent.{part}.subject.name.strategy",
            ConfigType.STRING,
            STRATEGIES[0],
            f"Confluent's key: how the subject of a {part}'s schema is called. TopicNameStrategy is `<topic>-{part}`, "
            "RecordNameStrategy what the schema calls its record, TopicRecordNameStrategy `<topic>-` and that. Names "
            "of Java's classes are taken too.",
            _strategy(),
        ),
    )


SCHEMAS = (
    _level("schema.validation", "values"),
    _level("schema.key.validation", "keys"),
    ConfigKey(
        "schema.subject",
        ConfigType.STRING,
        "",
        "Tidegate's own key. A subject of the registry for values that name no schema: each must be JSON that the "
        "latest version, a JSON Schema, describes, and gets the header `schema-id` with that version's id. Takes the "
        "place of `schema.validation`. Empty: none.",
        _subject(),
    ),
    *_confluent("key"),
    *_confluent("value"),
)
