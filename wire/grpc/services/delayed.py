"""`tidegate.v1.Admin`: records that are held back. They lie with the leaders of their partitions: ask there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from coordinators.access.access import AccessControl, Right
from coordinators.access.callers import Caller
from coordinators.access.rights import READ_TOPIC, WRITE_TOPIC
from coordinators.release.inspection import Inspection
from coordinators.release.listing import Window
from coordinators.release.lookup import NoSuchRecord
from coordinators.release.pending_records import DelayedRecord
from coordinators.release.releases import Releases
from engine.errors import BrokerError
from engine.workers import Workers
from wire.grpc.calls import GrpcCall
from wire.grpc.messages import admin_pb2
from wire.grpc.methods import GrpcMethod
from wire.inner.namespaces import Namespaces

MOST_LISTED: Final = 100


@asynccontextmanager
async def _meant(
    caller: Caller, topic: str, right: Right, access: AccessControl, namespaces: Namespaces
) -> AsyncIterator[str]:
    """What the broker calls the topic, for a caller that has the right to it; what goes wrong is told in its names."""
    names = namespaces.of(caller)
    await namespaces.charge(names)
    meant = names.meant(topic)
    try:
        access.require(caller, right, meant, "Admin of delayed records")
        yield meant
    except BrokerError as error:
        if names.tenant is None:
            raise
        raise type(error)(names.words(str(error))) from None


async def list_delayed(
    call: GrpcCall[admin_pb2.ListDelayedRequest],
    releases: Releases,
    workers: Workers,
    access: AccessControl,
    namespaces: Namespaces,
) -> None:
    """The next to be due first."""
    request = await call.only()
    limit = min(max(request.limit, 0) or MOST_LISTED, MOST_LISTED)
    window = Window(limit, 0, "due", None, None)
    async with _meant(call.caller, request.topic, READ_TOPIC, access, namespaces) as topic:
        found = await Inspection(releases, workers).list_pending(topic, window)
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
    namespaces: Namespaces,
) -> None:
    """Pending, or what became of it."""
    request = await call.only()
    async with _meant(call.caller, request.topic, READ_TOPIC, access, namespaces) as topic:
        found = await _found(Inspection(releases, workers), topic, request)
    await call.send(_state(found))


async def cancel_delayed(
    call: GrpcCall[admin_pb2.GetDelayedRequest],
    releases: Releases,
    workers: Workers,
    access: AccessControl,
    namespaces: Namespaces,
) -> None:
    """Take it back; it is never delivered."""
    request = await call.only()
    inspection = Inspection(releases, workers)
    async with _meant(call.caller, request.topic, WRITE_TOPIC, access, namespaces) as topic:
        found = await _found(inspection, topic, request)
        await inspection.cancel(topic, found.partition, request.id)
        cancelled = await inspection.look(topic, found.partition, request.id)
    await call.send(_state(cancelled))


async def _found(inspection: Inspection, topic: str, request: admin_pb2.GetDelayedRequest) -> DelayedRecord:
    if request.HasField("partition"):
        return await inspection.look(topic, request.partition, request.id)
    found = await inspection.find(topic, request.id)
    if not found:
        raise NoSuchRecord(f"{topic} knows no delayed record {request.id!r}")
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
