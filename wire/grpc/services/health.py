"""`grpc.health.v1`: whether the broker serves. Open to all, as probes are."""

from math import inf
from typing import Final

import trio

from wire.grpc.calls import GrpcCall
from wire.grpc.declared import service_names
from wire.grpc.messages.health_v1_pb2 import HealthCheckRequest, HealthCheckResponse
from wire.grpc.methods import GrpcMethod
from wire.grpc.status import GrpcError, Status
from wire.http.life import Life, Phase

LOOK_S: Final = 0.5
"""How often a watch looks while the broker starts. Once it serves, it does until it stops, which watches are told:
strangers may have many, and they cost nothing."""


async def check(call: GrpcCall[HealthCheckRequest], life: Life) -> None:
    """How it is now."""
    name = (await call.only()).service
    if name and name not in service_names():
        raise GrpcError(Status.NOT_FOUND, f"there is no service {name!r}")
    await call.send(HealthCheckResponse(status=_status(life)))


async def watch(call: GrpcCall[HealthCheckRequest], life: Life) -> None:
    """How it is now, and whenever that changes; at the end that nothing is served any more."""
    name = (await call.only()).service
    is_known = not name or name in service_names()
    told: object = None
    while not call.stopping.is_set():
        status = _status(life) if is_known else HealthCheckResponse.SERVICE_UNKNOWN
        if status != told:
            told = status
            await call.send(HealthCheckResponse(status=status))
        with trio.move_on_after(inf if life.phase is Phase.READY else LOOK_S):
            await call.stopping.wait()
    await call.send(HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING))


def _status(life: Life) -> HealthCheckResponse.ServingStatus:
    return HealthCheckResponse.SERVING if life.phase is Phase.READY else HealthCheckResponse.NOT_SERVING


METHODS = (
    GrpcMethod("/grpc.health.v1.Health/Check", HealthCheckRequest, check, is_open=True, needs_readiness=False),
    GrpcMethod("/grpc.health.v1.Health/Watch", HealthCheckRequest, watch, is_open=True, needs_readiness=False),
)
