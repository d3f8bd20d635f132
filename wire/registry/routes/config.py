"""`/config`: levels of compatibility, of the whole registry, of contexts and of subjects."""

from typing import Any

import msgspec

from coordinators.access.rights import (
    ALTER_CLUSTER_CONFIGS,
    ALTER_SUBJECT_CONFIGS,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_SUBJECT_CONFIGS,
)
from coordinators.schemas.compatibility import DEFAULT_LEVEL
from coordinators.schemas.errors import ConfigNotFound, InvalidCompatibility
from coordinators.schemas.names import DEFAULT_CONTEXT, GLOBAL, Subject
from coordinators.schemas.registry import Registry
from coordinators.schemas.settings import RegistrySettings
from wire.http.rights import on
from wire.http.routing import Route
from wire.registry.answers import UNSET, Omitted
from wire.registry.calls import NoQuery, RegistryCall, SubjectPlace
from wire.registry.rights import to_subject


class ConfigGiven(msgspec.Struct, rename="camel"):
    """What to set; what is not named stays."""

    compatibility: str | None = None
    compatibility_level: str | None = None
    """The name that answers use, taken too."""
    normalize: bool | None = None


class ConfigEchoed(msgspec.Struct):
    """What was set."""

    compatibility: str | Omitted = UNSET
    normalize: bool | Omitted = UNSET


class ConfigShown(msgspec.Struct, rename="camel"):
    """What is in force."""

    compatibility_level: str | Omitted = UNSET
    normalize: bool | Omitted = UNSET


class DefaultQuery(msgspec.Struct, rename="camel"):
    """Whether what is set further up is told where a subject has nothing of its own."""

    default_to_global: bool = False


def whole(call: RegistryCall) -> Subject:
    """The scope of a path without a subject: the context that it names, or everything."""
    return GLOBAL if call.context == DEFAULT_CONTEXT else Subject(call.context, "")


async def show_global(call: RegistryCall, registry: Registry) -> ConfigShown:
    """What holds where a subject has nothing of its own."""
    return _in_force(registry, whole(call))


async def show_config(call: RegistryCall, registry: Registry, settings: RegistrySettings) -> ConfigShown:
    """What a subject has of its own, or what holds for it."""
    scope, own = call.scope, settings.own(call.scope).config
    if own is None and not call.query.default_to_global:
        raise ConfigNotFound(f"Subject '{scope}' does not have subject-level compatibility configured")
    if own is not None and not call.query.default_to_global:
        return _shown(own)
    return _in_force(registry, scope)


async def put_global(call: RegistryCall, settings: RegistrySettings) -> ConfigEchoed:
    """Set it for everything."""
    return await _put(call, whole(call), settings)


async def put_config(call: RegistryCall, settings: RegistrySettings) -> ConfigEchoed:
    """Set it for a subject."""
    return await _put(call, call.scope, settings)


async def delete_global(call: RegistryCall, settings: RegistrySettings) -> ConfigShown:
    """Back to what there is without settings; what it was."""
    gone = await settings.delete_config(whole(call))
    return _shown({"compatibility": DEFAULT_LEVEL.value, **gone})


async def delete_config(call: RegistryCall, settings: RegistrySettings) -> ConfigShown:
    """A subject has nothing of its own any more; what it was."""
    return _shown(await settings.delete_config(call.scope))


async def _put(call: RegistryCall, scope: Subject, settings: RegistrySettings) -> ConfigEchoed:
    body: ConfigGiven = call.body
    given: dict[str, Any] = {
        "compatibility": body.compatibility or body.compatibility_level,
        "normalize": body.normalize,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        raise InvalidCompatibility("Invalid compatibility level: none is given")
    await settings.put_config(scope, given)
    own = settings.own(scope).config or {}
    return ConfigEchoed(**{name: own[name] for name in given})


def _in_force(registry: Registry, scope: Subject) -> ConfigShown:
    level = registry.setting(scope, "compatibility") or DEFAULT_LEVEL.value
    return _shown({"compatibility": level, "normalize": registry.setting(scope, "normalize")})


def _shown(config: Any) -> ConfigShown:
    level, normalize = config.get("compatibility"), config.get("normalize")
    return ConfigShown(UNSET if level is None else level, UNSET if normalize is None else normalize)


ROUTES = (
    Route(
        "GET",
        "/config",
        show_global,
        "The level of the whole registry",
        ConfigShown,
        query=NoQuery,
        rights=on(DESCRIBE_CLUSTER_CONFIGS),
    ),
    Route(
        "PUT",
        "/config",
        put_global,
        "Set it",
        ConfigEchoed,
        query=NoQuery,
        body=ConfigGiven,
        rights=on(ALTER_CLUSTER_CONFIGS),
    ),
    Route(
        "DELETE",
        "/config",
        delete_global,
        "Forget it",
        ConfigShown,
        query=NoQuery,
        rights=on(ALTER_CLUSTER_CONFIGS),
    ),
    Route(
        "GET",
        "/config/{subject}",
        show_config,
        "The level of a subject",
        ConfigShown,
        SubjectPlace,
        DefaultQuery,
        rights=to_subject(DESCRIBE_SUBJECT_CONFIGS),
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
        rights=to_subject(ALTER_SUBJECT_CONFIGS),
    ),
    Route(
        "DELETE",
        "/config/{subject}",
        delete_config,
        "Forget it",
        ConfigShown,
        SubjectPlace,
        NoQuery,
        rights=to_subject(ALTER_SUBJECT_CONFIGS),
    ),
)
