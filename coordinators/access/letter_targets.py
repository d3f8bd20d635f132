"""Who may have dead letters written to a topic: whoever names it by `dead.letter.topic`, or has letters of expired
records written by `expiry.policy=dlq`, must be allowed to write there, and to make it where it does not exist, for the
broker does both in its stead and asks nobody any more."""

from collections.abc import Iterable

from coordinators.access.access import AccessControl
from coordinators.access.callers import Caller
from coordinators.access.rights import CREATE_CLUSTER, CREATE_TOPIC, WRITE_TOPIC

LETTER_TOPIC = "dead.letter.topic"
EXPIRY_POLICY, SENDS_LETTERS = "expiry.policy", "dlq"
SUFFIX = ".dlq"


def letter_target(name: str, configs: Iterable[tuple[str, str | None]]) -> str | None:
    """Where a topic of this name sends letters by these configs; None if they say nothing of that. Of several the last
    counts."""
    said = dict(configs)
    named = (said.get(LETTER_TOPIC) or "").strip()
    if named or (said.get(EXPIRY_POLICY) or "").strip() != SENDS_LETTERS:
        return named or None
    return name + SUFFIX


def require_letter_target(
    access: AccessControl, caller: Caller, name: str, configs: Iterable[tuple[str, str | None]], asked: str
) -> None:
    """Raise the refusal unless the caller may have letters of a topic written where these configs say."""
    target = letter_target(name, configs) if access.is_enforced else None
    if target is None:
        return
    access.require(caller, WRITE_TOPIC, target, asked)
    if target not in access.topics.by_name and not access.permits(caller, CREATE_CLUSTER):
        access.require(caller, CREATE_TOPIC, target, asked)
