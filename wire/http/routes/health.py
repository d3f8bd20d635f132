"""`/health`, `/health/live`, `/health/ready`: is it there, is it ready, is it well."""

import contextlib
from http import HTTPStatus
from typing import Literal, TypeAlias

import msgspec

from coordinators.waiting import Breathing, in_worker
from engine.partition.partitions import Partitions
from engine.workers import Workers
from wire.http.life import Life, Phase
from wire.http.messages import Call, Response
from wire.http.routing import Route

Status: TypeAlias = Literal["ok", "starting", "stopping"]

_STATUSES: dict[Phase, Status] = {Phase.STARTING: "starting", Phase.READY: "ok", Phase.STOPPING: "stopping"}


class StorageHealth(msgspec.Struct):
    """The room on the disk. `refused` says what cannot be written for lack of it, null if all can. `set_aside`: files
    with bytes that did not fit into their logs when those were recovered, and wait for somebody to look at them."""

    size_bytes: int
    free_bytes: int
    refused: str | None
    set_aside_files: int
    set_aside_bytes: int


class Health(msgspec.Struct):
    """How the broker is. `degraded`: it serves, but not all of its partitions, or not all that they held, or the disk
    is full. `damages` are places on disk that are not as they were written; `/scrub` names them."""

    status: Status | Literal["degraded"]
    uptime_seconds: float
    partitions: int
    offline_partitions: int
    storage: StorageHealth
    damages: int


class Probe(msgspec.Struct):
    """A probe's answer."""

    status: Status


def _answer(health: Health | Probe) -> Response:
    status = HTTPStatus.OK if health.status == "ok" else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(status.value, msgspec.json.encode(health))


async def live(_: Call) -> Probe:
    """The loop runs, or there would be no answer."""
    return Probe("ok")


async def ready(_: Call, life: Life) -> Response:
    """Whether Kafka's clients are served."""
    return _answer(Probe(_STATUSES[life.phase]))


async def health(_: Call, life: Life, partitions: Partitions, workers: Workers) -> Response:
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
    status: Status | Literal["degraded"] = _STATUSES[life.phase]
    damages = len(partitions.damages)
    if (offline or damages or storage.refused is not None) and status == "ok":
        status = "degraded"
    return _answer(Health(status, life.uptime_s, count, offline, storage, damages))


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
    ),
    Route(
        "GET",
        "/health/live",
        live,
        "Whether the broker is there: restart it if this fails",
        answer=Probe,
        needs_token=False,
        needs_readiness=False,
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
    ),
)
