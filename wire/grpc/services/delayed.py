"""`tidegate.v1.Admin`: records that are held back. They lie with the leaders of their partitions: ask there."""

from typing import Final

from coordinators.access.access import AccessControl, Right
from coordinators.access.callers import Caller
from coordinators.access.rights import READ_TOPIC, WRITE_TOPIC
from coordinators.release.inspection import Inspection
from coordinators.release.listing import Window
from coordinators.release.lookup import NoSuchRecord
from coordinators.release.pending_records import DelayedRecord
from coordinators.release.releases import Releases
from coordinators.tenants.tenants import Tenants
from engine.errors import PolicyViolation
from engine.workers import Workers
from wire.grpc.calls import GrpcCall
from wire.grpc.messages import admin_pb2
from wire.grpc.methods import GrpcMethod

MOST_LISTED: Final = 100


def _may(caller: Caller, topic: str, right: Right, access: AccessControl, tenants: Tenants) -> None:
    tenant = tenants.of(caller)
    if tenant is not None:
        raise PolicyViolation(f"this is the operator's, not of the tenant {tenant}'s")
    access.require(caller, right, topic, "Admin of delayed records")


async def list_delayed(
    call: GrpcCall[admin_pb2.ListDelayedRequest],
    releases: Releases,
    workers: Workers,
    access: AccessControl,
    tenants: Tenants,
) -> None:
    """The next to be due first."""
    request = await call.only()
    _may(call.caller, request.topic, READ_TOPIC, access, tenants)
    limit = min(max(request.limit, 0) or MOST_LISTED, MOST_LISTED)
    found = await Inspection(releases, workers).list_pending(request.topic, Window(limit, 0, "due", None, None))
    records = [
        admin_pb2.DelayedRecord(
            partition=each.partition, id=each.id, due_ms=each.due_ms, key=each.key, size_bytes=each.size_bytes
        )
        for each in found.records
    ]
    await call.send(admin_pb2.ListDelayedResponse(records=records))


async def get_delayed(
    call: GrpcCall[admin_pb2.GetDelayedRequest],
    releases: Releases,
    workers: Workers,
    access: AccessControl,
    tenants: Tenants,
) -> None:
    """Pending, or what became of it."""
    request = await call.only()
    _may(call.caller, request.topic, READ_TOPIC, access, tenants)
    await call.send(_state(await _found(Inspection(releases, workers), request)))


async def cancel_delayed(
    call: GrpcCall[admin_pb2.GetDelayedRequest],
    releases: Releases,
    workers: Workers,
    access: AccessControl,
    tenants: Tenants,
) -> None:
    """Take it back; it is never delivered."""
    request = await call.only()
    _may(call.caller, request.topic, WRITE_TOPIC, access, tenants)
    inspection = Inspection(releases, workers)
    found = await _found(inspection, request)
    await inspection.cancel(request.topic, found.partition, request.id)
    await call.send(_state(await inspection.look(request.topic, found.partition, request.id)))


async def _found(inspection: Inspection, request: admin_pb2.GetDelayedRequest) -> DelayedRecord:
    if request.HasField("partition"):
        return await inspection.look(request.topic, request.partition, request.id)
    found = await inspection.find(request.topic, request.id)
    if not found:
        raise NoSuchRecord(f"{request.topic} knows no delayed record {request.id!r}")
    return found[0]


def _state(found: DelayedRecord) -> admin_pb2.DelayedRecordState:
    return admin_pb2.DelayedRecordState(
        partition=found.partition,
        id=found.id,
        fate=found.fate.lower(),
        offset=-1 if found.offset is None else found.offset,
    )


METHODS = (
    GrpcMethod("/tidegate.v1.Admin/ListDelayed", admin_pb2.ListDelayedRequest, list_delayed),
    GrpcMethod("/tidegate.v1.Admin/GetDelayed", admin_pb2.GetDelayedRequest, get_delayed),
    GrpcMethod("/tidegate.v1.Admin/CancelDelayed", admin_pb2.GetDelayedRequest, cancel_delayed),
)
