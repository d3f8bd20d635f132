"""`/config`: levels of compatibility and what else holds for the whole registry, for contexts and for subjects."""

from collections.abc import Mapping
from typing import Any

import msgspec

from coordinators.access.rights import (
    ALTER_CLUSTER_CONFIGS,
    ALTER_SUBJECT_CONFIGS,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_SUBJECT_CONFIGS,
)
from coordinators.schemas.compatibility import DEFAULT_LEVEL
from coordinators.schemas.errors import ConfigNotFound, InvalidCompatibility, RegistryError
from coordinators.schemas.names import DEFAULT_CONTEXT, GLOBAL, Subject, split
from coordinators.schemas.registry import Registry
from coordinators.schemas.settings import RegistrySettings
from wire.http.routing import Route
from wire.registry.answers import UNSET, Omitted
from wire.registry.bodies import MetadataGiven, RulesGiven
from wire.registry.calls import NoQuery, RegistryCall, SubjectPlace
from wire.registry.rights import to_scope, to_whole


class ConfigGiven(msgspec.Struct, rename="camel"):
    """What to set; what is not named stays, what is null is not set any more."""

    compatibility: str | Omitted | None = UNSET
    compatibility_level: str | Omitted | None = UNSET
    """The name that answers use, taken too."""
    compatibility_policy: str | Omitted | None = UNSET
    compatibility_group: str | Omitted | None = UNSET
    normalize: bool | Omitted | None = UNSET
    alias: str | Omitted | None = UNSET
    default_metadata: MetadataGiven | Omitted | None = UNSET
    override_metadata: MetadataGiven | Omitted | None = UNSET
    default_rule_set: RulesGiven | Omitted | None = UNSET
    override_rule_set: RulesGiven | Omitted | None = UNSET
    validate_fields: bool | Omitted | None = UNSET
    """Not supported, as the next: true is refused."""
    validate_rules: bool | Omitted | None = UNSET


class ConfigEchoed(msgspec.Struct, rename="camel"):
    """What was set."""

    compatibility: str | Omitted = UNSET
    compatibility_policy: str | Omitted = UNSET
    compatibility_group: str | Omitted = UNSET
    normalize: bool | Omitted = UNSET
    alias: str | Omitted = UNSET
    default_metadata: MetadataGiven | Omitted = UNSET
    override_metadata: MetadataGiven | Omitted = UNSET
    default_rule_set: RulesGiven | Omitted = UNSET
    override_rule_set: RulesGiven | Omitted = UNSET


class ConfigShown(msgspec.Struct, rename="camel"):
    """What is in force."""

    compatibility_level: str | Omitted = UNSET
    compatibility_policy: str | Omitted = UNSET
    compatibility_group: str | Omitted = UNSET
    normalize: bool | Omitted = UNSET
    alias: str | Omitted = UNSET
    default_metadata: MetadataGiven | Omitted = UNSET
    override_metadata: MetadataGiven | Omitted = UNSET
    default_rule_set: RulesGiven | Omitted = UNSET
    override_rule_set: RulesGiven | Omitted = UNSET


class DefaultQuery(msgspec.Struct, rename="camel"):
    """Whether what is set further up is told where a subject has nothing of its own."""

    default_to_global: bool = False


def whole(call: RegistryCall) -> Subject:
    """The scope of a path without a subject: the context that it names, or everything."""
    return GLOBAL if call.context == DEFAULT_CONTEXT else Subject(call.context, "")


async def show_global_config(call: RegistryCall, registry: Registry) -> ConfigShown:
    """What holds where a subject has nothing of its own."""
    return _in_force(registry, whole(call))


async def show_config(call: RegistryCall, registry: Registry, settings: RegistrySettings) -> ConfigShown:
    """What a subject has of its own, or what holds for it."""
    scope, own = call.scope, settings.own(call.scope).config
    if own is None and not call.query.default_to_global:
        raise ConfigNotFound(f"Subject '{call.told(scope)}' does not have subject-level compatibility configured")
    if own is not None and not call.query.default_to_global:
        return shown_config(call, own)
    return _in_force(registry, scope)


async def put_global_config(call: RegistryCall, settings: RegistrySettings) -> ConfigEchoed:
    """Set it for everything."""
    return await _put(call, whole(call), settings)


async def put_config(call: RegistryCall, settings: RegistrySettings) -> ConfigEchoed:
    """Set it for a subject."""
    return await _put(call, call.scope, settings)


async def delete_global_config(call: RegistryCall, settings: RegistrySettings) -> ConfigShown:
    """Back to what there is without settings; what it was."""
    gone = await settings.delete_config(whole(call))
    return _shown({"compatibility": DEFAULT_LEVEL.value, **gone})


async def delete_config(call: RegistryCall, settings: RegistrySettings) -> ConfigShown:
    """A subject has nothing of its own any more; what it was."""
    return shown_config(call, await settings.delete_config(call.scope))


async def _put(call: RegistryCall, scope: Subject, settings: RegistrySettings) -> ConfigEchoed:
    given = _members(call.body)
    if not given:
        raise InvalidCompatibility("Invalid compatibility level: none is given")
    await settings.put_config(scope, given)
    own = _told(call, settings.own(scope).config or {})
    return msgspec.convert({name: own[name] for name in given if own.get(name) is not None}, ConfigEchoed)


def _members(body: ConfigGiven) -> dict[str, Any]:
    """What is given, as it is kept."""
    given: dict[str, Any] = msgspec.to_builtins(body)
    level = given.pop("compatibilityLevel", UNSET)
    if level is not UNSET and not given.get("compatibility"):
        given["compatibility"] = level
    for name in ("validateFields", "validateRules"):
        if given.pop(name, None):
            raise RegistryError(f"{name} is not supported", 422)
    return given


def _in_force(registry: Registry, scope: Subject) -> ConfigShown:
    held = {name: registry.setting(scope, name) for name in INHERITED}
    held["compatibility"] = held["compatibility"] or DEFAULT_LEVEL.value
    return _shown(held)


def shown_config(call: RegistryCall, config: Mapping[str, Any]) -> ConfigShown:
    """What a scope has of its own."""
    return _shown(_told(call, config))


def _told(call: RegistryCall, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """With the subject that an alias stands for called as the caller knows it."""
    if not config.get("alias"):
        return config
    meant = split(config["alias"], call.context)
    return {**config, "alias": call.told(meant) if call.may_know(meant.context) else None}


def _shown(config: Mapping[str, Any]) -> ConfigShown:
    members = {name: value for name, value in config.items() if value is not None}
    if "compatibility" in members:
        members["compatibilityLevel"] = members.pop("compatibility")
    return msgspec.convert(members, ConfigShown)


INHERITED = [each.encode_name for each in msgspec.structs.fields(ConfigEchoed) if each.name != "alias"]
"""What holds for all below that have none of their own."""
ROUTES = (
    Route(
        "GET",
        "/config",
        show_global_config,
        "The level of the whole registry",
        ConfigShown,
        query=NoQuery,
        rights=to_whole(DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_SUBJECT_CONFIGS),
    ),
    Route(
        "PUT",
        "/config",
        put_global_config,
        "Set it",
        ConfigEchoed,
        query=NoQuery,
        body=ConfigGiven,
        rights=to_whole(ALTER_CLUSTER_CONFIGS, ALTER_SUBJECT_CONFIGS),
    ),
    Route(
        "DELETE",
        "/config",
        delete_global_config,
        "Forget it",
        ConfigShown,
        query=NoQuery,
        rights=to_whole(ALTER_CLUSTER_CONFIGS, ALTER_SUBJECT_CONFIGS),
    ),
    Route(
        "GET",
        "/config/{subject}",
        show_config,
        "The level of a subject",
        ConfigShown,
        SubjectPlace,
        DefaultQuery,
        rights=to_scope(DESCRIBE_SUBJECT_CONFIGS),
    ),
    Route(
        "PUT",
        "/config/{subject}",
        put_config,
        "Set it",
        ConfigEchoed,
        SubjectPlace,
        NoQuery,
        ConfigGiven,
        rights=to_scope(ALTER_SUBJECT_CONFIGS),
    ),
    Route(
        "DELETE",
        "/config/{subject}",
        delete_config,
        "Forget it",
        ConfigShown,
        SubjectPlace,
        NoQuery,
        rights=to_scope(ALTER_SUBJECT_CONFIGS),
    ),
)
