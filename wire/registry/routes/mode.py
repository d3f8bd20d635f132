"""`/mode`: whether the registry, a context or a subject takes changes."""

import msgspec

from coordinators.access.rights import (
    ALTER_CLUSTER_CONFIGS,
    ALTER_SUBJECT_CONFIGS,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_SUBJECT_CONFIGS,
)
from coordinators.schemas.errors import ModeNotFound
from coordinators.schemas.modes import Mode, mode_of
from coordinators.schemas.names import Subject
from coordinators.schemas.registry import Registry
from coordinators.schemas.settings import RegistrySettings
from wire.http.routing import Route
from wire.registry.calls import NoQuery, RegistryCall, SubjectPlace
from wire.registry.rights import to_scope, to_whole
from wire.registry.routes.config import DefaultQuery, whole


class ModeShown(msgspec.Struct):
    """A mode."""

    mode: str | None = None


class ForceQuery(msgspec.Struct):
    """With `force`, IMPORT is entered though there are schemas."""

    force: bool = False


async def show_global_mode(call: RegistryCall, registry: Registry) -> ModeShown:
    """What holds where a subject has no mode of its own."""
    return ModeShown(mode_of(registry, whole(call)).value)


async def show_mode(call: RegistryCall, registry: Registry, settings: RegistrySettings) -> ModeShown:
    """What a subject has of its own, or what holds for it."""
    if call.query.default_to_global:
        return ModeShown(mode_of(registry, call.scope).value)
    own = settings.own(call.scope).mode
    if own is None:
        raise ModeNotFound(f"Subject '{call.told(call.scope)}' does not have subject-level mode configured")
    return ModeShown(own)


async def put_global_mode(call: RegistryCall, settings: RegistrySettings) -> ModeShown:
    """Set it for everything."""
    return await _put(call, whole(call), settings)


async def put_mode(call: RegistryCall, settings: RegistrySettings) -> ModeShown:
    """Set it for a subject."""
    return await _put(call, call.scope, settings)


async def delete_global_mode(call: RegistryCall, settings: RegistrySettings) -> ModeShown:
    """Back to READWRITE; what it was."""
    scope = whole(call)
    if settings.own(scope).mode is None:
        return ModeShown(Mode.READWRITE.value)
    return ModeShown((await settings.delete_mode(scope)).value)


async def delete_mode(call: RegistryCall, settings: RegistrySettings) -> ModeShown:
    """A subject has no mode of its own any more; what it was."""
    return ModeShown((await settings.delete_mode(call.scope)).value)


async def _put(call: RegistryCall, scope: Subject, settings: RegistrySettings) -> ModeShown:
    mode = await settings.put_mode(scope, call.body.mode, force=call.query.force)
    return ModeShown(mode.value)


DESCRIBE = to_whole(DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_SUBJECT_CONFIGS)
ALTER = to_whole(ALTER_CLUSTER_CONFIGS, ALTER_SUBJECT_CONFIGS)
DESCRIBE_OWN, ALTER_OWN = to_scope(DESCRIBE_SUBJECT_CONFIGS), to_scope(ALTER_SUBJECT_CONFIGS)
ROUTES = (
    Route(
        "GET", "/mode", show_global_mode, "The mode of the whole registry", ModeShown, query=NoQuery, rights=DESCRIBE
    ),
    Route("PUT", "/mode", put_global_mode, "Set it", ModeShown, query=ForceQuery, body=ModeShown, rights=ALTER),
    Route("DELETE", "/mode", delete_global_mode, "Forget it", ModeShown, query=NoQuery, rights=ALTER),
    Route(
        "GET",
        "/mode/{subject}",
        show_mode,
        "The mode of a subject",
        ModeShown,
        SubjectPlace,
        DefaultQuery,
        rights=DESCRIBE_OWN,
    ),
    Route(
        "PUT", "/mode/{subject}", put_mode, "Set it", ModeShown, SubjectPlace, ForceQuery, ModeShown, rights=ALTER_OWN
    ),
    Route("DELETE", "/mode/{subject}", delete_mode, "Forget it", ModeShown, SubjectPlace, NoQuery, rights=ALTER_OWN),
)
