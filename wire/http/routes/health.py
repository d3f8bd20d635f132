"""`/health`, `/health/live`, `/health/ready`: is it there, is it ready, is it well."""

from http import HTTPStatus
from typing import Literal, TypeAlias

import msgspec

from coordinators.breathing import Breathing
from wire.http.messages import Call, Response
from wire.http.routing import Route
from wire.http.surroundings import Phase

Status: TypeAlias = Literal["ok", "starting", "stopping"]

_STATUSES: dict[Phase, Status] = {Phase.STARTING: "starting", Phase.READY: "ok", Phase.STOPPING: "stopping"}


class Health(msgspec.Struct):
    """How the broker is. `degraded`: it serves, but not all of its partitions."""

    status: Status | Literal["degraded"]
    uptime_seconds: float
    partitions: int
    offline_partitions: int


class Probe(msgspec.Struct):
    """A probe's answer."""

    status: Status


def _answer(health: Health | Probe) -> Response:
    status = HTTPStatus.OK if health.status == "ok" else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(status.value, msgspec.json.encode(health))


async def live(_: Call) -> Probe:
    """The loop runs, or there would be no answer."""
    return Probe("ok")


async def ready(call: Call) -> Response:
    """Whether Kafka's clients are served."""
    return _answer(Probe(_STATUSES[call.broker.phase]))


async def health(call: Call) -> Response:
    """Whether all is well; 503 if not."""
    broker = call.broker
    breathing = Breathing()
    partitions = offline = 0
    for partition in list(broker.partitions):
        partitions += 1
        offline += partition.offline is not None and not partition.removed
        await breathing.did()
    status: Status | Literal["degraded"] = _STATUSES[broker.phase]
    if offline and status == "ok":
        status = "degraded"
    uptime_s = broker.clock.monotonic() - broker.started_s
    return _answer(Health(status, uptime_s, partitions, offline))


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
