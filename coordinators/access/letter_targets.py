"""Who may have dead letters written to a topic: whoever names it by `dead.letter.topic` must be allowed to write there,
and to make it where it does not exist, for the broker does both in its stead and asks nobody any more."""

from collections.abc import Iterable

from coordinators.access.access import AccessControl
from coordinators.access.callers import Caller
from coordinators.access.rights import CREATE_CLUSTER, CREATE_TOPIC, WRITE_TOPIC

LETTER_TOPIC = "dead.letter.topic"


def letter_target(configs: Iterable[tuple[str, str | None]]) -> str | None:
    """The topic that these configs name; None if they name none. Of several the last counts."""
    named = [value for key, value in configs if key == LETTER_TOPIC]
    return (named[-1] or "").strip() or None if named else None


def require_letter_target(
    access: AccessControl, caller: Caller, configs: Iterable[tuple[str, str | None]], asked: str
) -> None:
    """Raise the refusal unless the caller may have letters written where these configs say."""
    target = letter_target(configs) if access.is_enforced else None
    if target is None:
        return
    access.require(caller, WRITE_TOPIC, target, asked)
    if target not in access.topics.by_name and not access.permits(caller, CREATE_CLUSTER):
        access.require(caller, CREATE_TOPIC, target, asked)
