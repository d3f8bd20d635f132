"""`/health`, `/health/live`, `/health/ready`: is it there, is it ready, is it well."""

import contextlib
import math
from http import HTTPStatus
from typing import Literal, TypeAlias

import msgspec

from coordinators.cluster.membership import ClusterMembership
from coordinators.waiting import Breathing, in_worker
from engine.partition.partitions import Partitions
from engine.workers import Workers
from wire.http.life import Life, Phase
from wire.http.messages import Call, Response
from wire.http.rights import OPEN
from wire.http.routes.cluster import partition_counts
from wire.http.routing import Route

Status: TypeAlias = Literal["ok", "starting", "stopping"]

WELL = ("ok", "healthy")
HealthStatus: TypeAlias = Literal["healthy", "degraded", "starting", "stopping"]

_STATUSES: dict[Phase, Status] = {Phase.STARTING: "starting", Phase.READY: "ok", Phase.STOPPING: "stopping"}
_HEALTHS: dict[Phase, HealthStatus] = {
    Phase.STARTING: "starting",
    Phase.READY: "healthy",
    Phase.STOPPING: "stopping",
}


class StorageHealth(msgspec.Struct):
    """The room on the disk. `refused` says what cannot be written for lack of it, null if all can. `set_aside`: files
    with bytes that did not fit into their logs when those were recovered, and wait for somebody to look at them."""

    size_bytes: int
    free_bytes: int
    refused: str | None
    set_aside_files: int
    set_aside_bytes: int


class SessionHealth(msgspec.Struct):
    """This node's session in etcd. `silent`: nobody has confirmed it for so long that this node answers producers only
    when all replicas in sync have their records. `lost`: others lead what it led, and it registers anew."""

    silent_seconds: float | None
    duration_seconds: float
    silent: bool
    lost: bool


class ClusterHealth(msgspec.Struct):
    """All partitions of the cluster, as this node knows their rows; `session` is null where it is alone."""

    nodes: int
    leaderless_partitions: int
    under_min_isr_partitions: int
    under_replicated_partitions: int
    session: SessionHealth | None


class Health(msgspec.Struct):
    """How the broker is: `healthy`, or not. `degraded`: it serves, but not all of its partitions, or not all that they
    held, or the disk is full, or the cluster lacks replicas, or etcd does not confirm this node's session. `damages`
    are places on disk that are not as they were written; `/scrub` names them."""

    status: HealthStatus
    uptime_seconds: float
    partitions: int
    offline_partitions: int
    storage: StorageHealth
    damages: int
    cluster: ClusterHealth


class Probe(msgspec.Struct):
    """A probe's answer."""

    status: Status


def _answer(health: Health | Probe) -> Response:
    status = HTTPStatus.OK if health.status in WELL else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(status.value, msgspec.json.encode(health))


async def live(_: Call) -> Probe:
    """The loop runs, or there would be no answer."""
    return Probe("ok")


async def ready(_: Call, life: Life) -> Response:
    """Whether Kafka's clients are served."""
    return _answer(Probe(_STATUSES[life.phase]))


async def health(
    _: Call, life: Life, partitions: Partitions, workers: Workers, membership: ClusterMembership
) -> Response:
    """Whether all is well; 503 if not."""
    breathing = Breathing()
    count = offline = files = size = 0
    for partition in list(partitions):
        count += 1
        offline += partition.offline is not None and not partition.removed
        for each in partition.logs:
            files += each.log.recovery.set_aside_files
            size += each.log.recovery.set_aside_bytes
        await breathing.did()
    storage = await _storage(partitions, workers, files, size)
    damages = len(partitions.damages)
    cluster = await _cluster(membership)
    is_well = not offline and not damages and storage.refused is None and _is_whole(cluster)
    status = _HEALTHS[life.phase] if is_well or life.phase is not Phase.READY else "degraded"
    return _answer(Health(status, life.uptime_s, count, offline, storage, damages, cluster))


async def _cluster(membership: ClusterMembership) -> ClusterHealth:
    replicas = membership.replicas
    counts = await partition_counts(replicas.topics, replicas.nodes)
    session = None
    if not membership.is_alone:
        kept = replicas.catalogue.session
        silent_s = kept.silent_s()
        session = SessionHealth(
            silent_s if math.isfinite(silent_s) else None,
            kept.duration_s,
            replicas.partitions.is_doubtful,
            kept.is_lost,
        )
    return ClusterHealth(
        len(replicas.nodes.by_id), counts.leaderless, counts.under_min_isr, counts.under_replicated, session
    )


def _is_whole(cluster: ClusterHealth) -> bool:
    lacks = cluster.leaderless_partitions or cluster.under_min_isr_partitions or cluster.under_replicated_partitions
    session = cluster.session
    return not lacks and (session is None or not (session.silent or session.lost))


async def _storage(
    partitions: Partitions, workers: Workers, set_aside_files: int, set_aside_bytes: int
) -> StorageHealth:
    storage = partitions.storage
    with contextlib.suppress(OSError):
        await in_worker(workers, storage.look)
    refused = storage.refused
    if refused is None and partitions.refusal is not None:
        refused = str(partitions.refusal)
    room = storage.room
    return StorageHealth(room.size_bytes, room.free_bytes, refused, set_aside_files, set_aside_bytes)


ROUTES = (
    Route(
        "GET",
        "/health",
        health,
        "How the broker is",
        answer=Health,
        other_answers=(503,),
        needs_readiness=False,
        rights=OPEN,
    ),
    Route(
        "GET",
        "/health/live",
        live,
        "Whether the broker is there: restart it if this fails",
        answer=Probe,
        needs_token=False,
        needs_readiness=False,
        rights=OPEN,
    ),
    Route(
        "GET",
        "/health/ready",
        ready,
        "Whether Kafka's clients are served",
        answer=Probe,
        other_answers=(503,),
        needs_token=False,
        needs_readiness=False,
        rights=OPEN,
    ),
)
