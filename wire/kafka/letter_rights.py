"""The topic that dead letters go to by the configs of another that a request has, as a resource of rights.

What an alteration leaves as it was is not asked for.
"""

from typing import Any

from coordinators.access.access import AccessControl
from coordinators.access.letter_targets import EXPIRY_POLICY, LETTER_TOPIC, letter_target
from coordinators.configs import AlterOperation, ResourceType


def letters_of_new(topic: Any, _: AccessControl) -> str | None:
    """Of a topic that is to be made."""
    return letter_target(topic.name, ((each.name, each.value) for each in topic.configs))


def new_letters_of_new(topic: Any, access: AccessControl) -> str | None:
    """The same, if it would have to be made, too."""
    return _missing(letters_of_new(topic, access), access)


def letters_of(resource: Any, access: AccessControl) -> str | None:
    """Of a resource whose configs are altered, or replaced."""
    if resource.resource_type != ResourceType.TOPIC or not resource.configs:
        return None
    topic = access.topics.by_name.get(resource.resource_name)
    kept = {} if topic is None or not hasattr(resource.configs[0], "config_operation") else topic.config.overrides
    configs: dict[str, str | None] = {key: kept[key] for key in (LETTER_TOPIC, EXPIRY_POLICY) if key in kept}
    for each in resource.configs:
        removes = getattr(each, "config_operation", AlterOperation.SET) == AlterOperation.DELETE
        configs[each.name] = None if removes else each.value
    target = letter_target(resource.resource_name, configs.items())
    before = {} if topic is None else topic.config.overrides
    return None if target == letter_target(resource.resource_name, before.items()) else target


def new_letters_of(resource: Any, access: AccessControl) -> str | None:
    """The same, if it would have to be made."""
    return _missing(letters_of(resource, access), access)


def _missing(target: str | None, access: AccessControl) -> str | None:
    return None if target in access.topics.by_name else target
