"""The topic for dead letters that a request names with the configs of another, as a resource of rights.

What an alteration leaves as it was is not asked for.
"""

from typing import Any

from coordinators.access.access import AccessControl
from coordinators.access.letter_targets import LETTER_TOPIC, letter_target
from coordinators.configs import AlterOperation, ResourceType


def letters_of_new(topic: Any, _: AccessControl) -> str | None:
    """Of a topic that is to be made."""
    return letter_target((each.name, each.value) for each in topic.configs)


def new_letters_of_new(topic: Any, access: AccessControl) -> str | None:
    """The same, if it would have to be made, too."""
    return _missing(letters_of_new(topic, access), access)


def letters_of(resource: Any, access: AccessControl) -> str | None:
    """Of a resource whose configs are altered, or replaced."""
    if resource.resource_type != ResourceType.TOPIC:
        return None
    target = letter_target(
        (each.name, each.value)
        for each in resource.configs
        if getattr(each, "config_operation", AlterOperation.SET) != AlterOperation.DELETE
    )
    topic = access.topics.by_name.get(resource.resource_name)
    return None if topic is not None and topic.config.text(LETTER_TOPIC) == target else target


def new_letters_of(resource: Any, access: AccessControl) -> str | None:
    """The same, if it would have to be made."""
    return _missing(letters_of(resource, access), access)


def _missing(target: str | None, access: AccessControl) -> str | None:
    return None if target in access.topics.by_name else target
