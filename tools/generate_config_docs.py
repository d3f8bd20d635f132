"""Writes docs/configuration.md from the config keys: `python -m tools.generate_config_docs`."""

from pathlib import Path

from coordinators.group_configs import GROUP_CONFIGS
from coordinators.group_keys import GroupKey
from engine.config.keys import LONG_MAX, ConfigKey
from engine.config.topic import TOPIC_KEYS
from tidegate.config import environment_name
from tidegate.config_keys import BROKER_KEYS
from tools.doc_tables import table

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"

_INTRODUCTION = f"""\
# Configuration

Keys have Kafka's names. This page is written by `python -m tools.generate_config_docs` from the keys themselves.

## Where the broker's configuration comes from

Each of these goes before those above it:

1. the default;
2. a TOML file, `tidegate serve --config FILE`; `"log.segment.bytes" = 1048576`, `log.segment.bytes = 1048576` and
   `[log]` with `segment.bytes = 1048576` mean the same. A file whose name ends in `.json` is JSON, with the same names,
   and may say in short where the broker is: `{{"host": "127.0.0.1", "port": 9092, "storage": "data", "text": {{"port":
   9094}}}}`; `port` is that of Kafka's clients (`listeners`), `storage` the data directory (`log.dirs`);
3. an environment variable: `TIDEGATE_` and the key in upper case, with underscores for dots:
   `{environment_name("log.segment.bytes")}=1048576`. Any other variable that begins with `TIDEGATE_` is refused, except
   those that Kubernetes sets for a service of that name, and `TIDEGATE_CLI_` ones, which [commands](cli.md) read;
4. `tidegate serve --set log.segment.bytes=1048576`, as often as needed;
5. a program that embeds the broker.

An unknown key or a bad value is refused at start, with its name, where it was given and what would be right.

## Which value of a topic key is in force

The first of: the topic's own setting; the broker key behind it (its synonym, in the table) altered for this node while
it runs; altered for all nodes; in the node's own configuration; the default. Among several synonyms of one layer the
first counts. A topic's settings and the broker keys marked "dynamic" can be altered while the broker runs
(`kafka-configs.sh --alter`) and are in force at once.

Those that say "Tidegate's own key" are not Kafka's: `kafka-topics.sh --create --config` refuses names that it does not
know before it asks the broker. Set them afterwards with `kafka-configs.sh --alter --add-config flush.mode=os`, or at
creation with any client library.
"""

_GROUPS = """
## Group keys

A group is configured by its name, also before it has members:
`kafka-configs.sh --entity-type groups --entity-name GROUP --alter --add-config share.auto.offset.reset=earliest`.
What it has not chosen is as the broker key says, or the default. What was altered is in force at once, for groups with
members too. An unknown key, or a value out of bounds, is refused.
"""


def document() -> str:
    """The whole page."""
    return "\n".join(
        [
            _INTRODUCTION,
            "## Topic keys\n",
            *table(("key", "type", "default", "broker key", "meaning"), map(_topic_row, TOPIC_KEYS.values())),
            "\n## Broker keys\n",
            *table(("key", "type", "default", "altered", "meaning"), map(_broker_row, BROKER_KEYS.values())),
            _GROUPS,
            *table(("key", "type", "default", "broker key", "meaning"), map(_group_row, GROUP_CONFIGS.values())),
            "",
        ]
    )


def _topic_row(key: ConfigKey) -> tuple[str, ...]:
    synonyms = ", ".join(f"`{synonym.name}`" for synonym in key.synonyms)
    return (*_common(key), synonyms or "none", _meaning(key))


def _group_row(each: GroupKey) -> tuple[str, ...]:
    bounds = " ".join(
        f"{word} is `{name}`." for word, name in (("The least", each.least), ("The most", each.greatest)) if name
    )
    key, default, broker_key, meaning = each.key, *_topic_row(each.key)[2:]
    return (f"`{key.name}`", key.type.name.lower(), default, broker_key, f"{meaning} {bounds}".strip())


def _broker_row(key: ConfigKey) -> tuple[str, ...]:
    return (*_common(key), "dynamic" if key.dynamic else "at start", _meaning(key))


def _common(key: ConfigKey) -> tuple[str, str, str]:
    return f"`{key.name}`", key.type.name.lower(), _default(key)


def _default(key: ConfigKey) -> str:
    if key.default is None:
        return "not set"
    if key.default == LONG_MAX:
        return "2^63-1"
    return f"`{key.format(key.default)}`" if key.default not in ((), "") else "empty"


def _meaning(key: ConfigKey) -> str:
    rule = f" Must be {key.rule.sentence}." if key.rule.sentence else ""
    return key.full_documentation + rule


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
