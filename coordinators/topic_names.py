"""Which names a topic may have: Kafka's rules."""

import re

from engine.errors import InvalidTopic

NAME_LENGTH_MAX = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")

# Topics that clients are told are the broker's own.
INTERNAL_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__trace_events", "__audit"}
)
PUBLIC_TOPICS = frozenset({"__trace_events", "__audit"})
"""The broker's own, but for others to read: Spark passes over whatever it is told to be internal."""


def check_topic_name(name: str) -> None:
    """`InvalidTopic` unless the name is legal."""
    if not name:
        raise InvalidTopic("Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        raise InvalidTopic("Topic name is invalid: '.' or '..' is not allowed")
    if len(name) > NAME_LENGTH_MAX:
        raise InvalidTopic(
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
        )
    if not _LEGAL.fullmatch(name):
        raise InvalidTopic(
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII "
            "alphanumerics, "
            "'.', '_' and '-'"
        )


def is_legal_topic_name(name: str) -> bool:
    """Whether a topic may be called so."""
    try:
        check_topic_name(name)
    except InvalidTopic:
        return False
    return True


def collision_key(name: str) -> str:
    """Two topics may not share this: metric names write a dot as an underscore."""
    return name.replace(".", "_")
