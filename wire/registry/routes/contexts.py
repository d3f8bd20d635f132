"""`/`, `/contexts`, `/v1/metadata` and `/stats`: what the registry tells of itself."""

from typing import Any

import msgspec

from coordinators.access.access import AccessControl
from coordinators.cluster.nodes import NodeIdentity
from coordinators.schemas.names import DEFAULT_CONTEXT
from coordinators.schemas.registry import Registry
from engine.errors import ClusterAuthorizationFailed
from wire.http.life import Life
from wire.http.rights import DESCRIBE_THE_CLUSTER, OPEN
from wire.http.routing import Route
from wire.registry.calls import NoQuery, Paged, RegistryCall
from wire.registry.rights import FILTERED, may_see


class ClusterShown(msgspec.Struct):
    """Which registry it is."""

    id: str
    scope: dict[str, Any]


class SoftwareShown(msgspec.Struct, rename="camel"):
    """Of the software."""

    version: str
    commit_id: str = ""


class Statistics(msgspec.Struct):
    """What the registry holds."""

    contexts: int
    subjects: int
    deleted_subjects: int
    versions: int
    deleted_versions: int
    schemas: int
    references: int
    text_bytes: int
    revision: int


async def show_root(_: RegistryCall) -> dict[str, Any]:
    """Nothing, by which clients see that somebody answers."""
    return {}


async def list_contexts(call: RegistryCall, registry: Registry, access: AccessControl) -> list[str]:
    """Contexts that have subjects, and the default one."""
    if call.is_bound:
        return call.query.of([DEFAULT_CONTEXT])  # type: ignore[no-any-return]
    seen = {subject.context for subject in registry.subjects if may_see(access, call.caller, subject)}
    return call.query.of(sorted({DEFAULT_CONTEXT, *seen}))  # type: ignore[no-any-return]


async def show_cluster(_: RegistryCall, identity: NodeIdentity) -> ClusterShown:
    """The cluster that the registry is part of."""
    clusters = {"kafka-cluster": identity.cluster_id, "schema-registry-cluster": "tidegate"}
    return ClusterShown(identity.cluster_id, {"path": [], "clusters": clusters})


async def show_software(_: RegistryCall, life: Life) -> SoftwareShown:
    """Which version of Tidegate it is."""
    return SoftwareShown(life.version())


async def show_statistics(call: RegistryCall, registry: Registry) -> Statistics:
    """How much there is."""
    if call.is_bound:
        raise ClusterAuthorizationFailed(f"this is the operator's, not of the tenant {call.names.tenant}'s")
    return Statistics(**registry.statistics(), revision=registry.revision)


ROUTES = (
    Route("GET", "/", show_root, "Whether somebody answers", dict[str, Any], query=NoQuery, rights=OPEN),
    Route("GET", "/contexts", list_contexts, "Contexts", list[str], query=Paged, rights=FILTERED),
    Route("GET", "/v1/metadata/id", show_cluster, "Which cluster it is", ClusterShown, query=NoQuery, rights=OPEN),
    Route("GET", "/v1/metadata/version", show_software, "Its version", SoftwareShown, query=NoQuery, rights=OPEN),
    Route(
        "GET",
        "/stats",
        show_statistics,
        "How much there is",
        Statistics,
        query=NoQuery,
        rights=DESCRIBE_THE_CLUSTER,
    ),
)
