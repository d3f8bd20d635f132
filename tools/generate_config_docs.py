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

Keys have Kafka's names. There are [topic keys](#topic-keys), [broker keys](#broker-keys) and [group keys](#group-keys).
This page is written by `python -m tools.generate_config_docs` from the keys themselves.

## Where to set broker keys

A key may be set in several places; those further down win:

1. the default;
2. a TOML file, `tidegate serve --config FILE`. `"log.segment.bytes" = 1048576`, `log.segment.bytes = 1048576` and
   `[log]` with `segment.bytes = 1048576` mean the same;
3. an environment variable: `TIDEGATE_` and the key in upper case, with underscores for dots,
   `{environment_name("log.segment.bytes")}=1048576`;
4. `tidegate serve --set log.segment.bytes=1048576`, as often as needed;
5. a program that embeds the broker.

A file whose name ends in `.json` is JSON with the same names. It may also give addresses in short:
`{{"host": "127.0.0.1", "port": 9092, "storage": "data", "text": {{"port": 9094}}}}`. There `port` is the one for
Kafka's clients (`listeners`), and `storage` the data directory (`log.dirs`).

The broker does not start with an unknown key or a bad value; it names the key, where it was set, and what would be
right. This is also true of variables that begin with `TIDEGATE_`, except those that Kubernetes sets for a service of
that name, and `TIDEGATE_CLI_` ones, which [commands](cli.md) read.

## Which value of a topic key counts

The first that is set:

1. the topic's own setting;
2. the broker key behind it (in the table), altered for this node while it runs;
3. the same, altered for all nodes;
4. the same, in the node's own configuration;
5. the default.

If several broker keys stand behind a topic key, the first one that is set at a level counts. A topic's settings, and
broker keys marked "dynamic", can be altered while the broker runs (`kafka-configs.sh --alter`, `tidegate config set`),
and take effect at once.

Kafka does not know the keys marked "Tidegate's own key", and `kafka-topics.sh --create --config` refuses them before it
asks the broker. Set them afterwards with `kafka-configs.sh --alter --add-config flush.mode=os`, or with `tidegate` or
any client library.
"""

_GROUPS = """
## Group keys

A group has settings under its name, even before it has members:
`kafka-configs.sh --entity-type groups --entity-name GROUP --alter --add-config share.auto.offset.reset=earliest`.
What is not set for it follows the broker key, or the default. Changes take effect at once, also for groups that have
members. Unknown keys and values out of bounds are refused.
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
