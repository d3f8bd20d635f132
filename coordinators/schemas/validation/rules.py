"""What a topic's config says of schemas: which parts of its records are looked at, how closely, under which subjects.

`schema.validation` is our own key, of values; Confluent's, which ask for ids alone, are obeyed where it is not set.
"""

from attrs import frozen

from engine.config.resolve import TopicConfig

NONE, ID, FULL = "none", "id", "full"
KEY, VALUE = "key", "value"
TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME = "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"


@frozen
class PartRules:
    """Of keys, or of values."""

    part: str
    is_full: bool
    strategy: str
    """By which the subject of a schema is found: the last word of what clients call it."""

    def subject(self, topic: str, record_name: str) -> str:
        """Under which a schema must be registered."""
        if self.strategy == RECORD_NAME:
            return record_name
        return f"{topic}-{record_name}" if self.strategy == TOPIC_RECORD_NAME else f"{topic}-{self.part}"

    @property
    def needs_name(self) -> bool:
        """Whether the subject depends on what the schema calls its record."""
        return self.strategy != TOPIC_NAME


@frozen
class SchemaRules:
    """Of a topic that asks for something."""

    key: PartRules | None
    value: PartRules | None
    plain_subject: str = ""
    """The subject whose latest schema values without framing are held against; empty where they have framing."""

    @property
    def is_full(self) -> bool:
        """Whether any payload is looked into."""
        return bool(self.plain_subject) or any(part is not None and part.is_full for part in (self.key, self.value))


def schema_rules(config: TopicConfig) -> SchemaRules | None:
    """The rules of a topic; None where nothing is looked at."""
    key, value = (
        _part(config, KEY, config.text("schema.key.validation")),
        _part(config, VALUE, config.text("schema.validation")),
    )
    plain_subject = config.text("schema.subject")
    if key is None and value is None and not plain_subject:
        return None
    return SchemaRules(key, None if plain_subject else value, plain_subject)


def _part(config: TopicConfig, part: str, level: str) -> PartRules | None:
    if level == NONE and config[f"confluent.{part}.schema.validation"]:
        level = ID
    if level == NONE:
        return None
    strategy = config.text(f"confluent.{part}.subject.name.strategy")
    return PartRules(part, level == FULL, strategy.rpartition(".")[2])
