"""Who calls: shown in the metadata `authorization`, or by a certificate, by the rules of the operations door."""

from attrs import frozen

from coordinators.access.callers import Caller
from wire.grpc.headers import CallHead
from wire.grpc.status import GrpcError, Status
from wire.http.callers import Reception, Visitor


@frozen(eq=False)
class GrpcReception:
    """A reception of its own: it has the keys `grpc.*`."""

    reception: Reception

    async def caller(self, head: CallHead, visitor: Visitor) -> Caller:
        """Whose call it is; `GrpcError` if that must be known and is not."""
        # Here: both are loaded with the first caller, not with the broker.
        from wire.http.messages import Request
        from wire.http.problems import Problem

        said = head.metadata.get("authorization")
        headers = {} if said is None else {"authorization": said}
        try:
            return await self.reception.caller(Request("POST", head.path, headers, b""), visitor)
        except Problem as problem:
            status = Status.UNAVAILABLE if problem.status.value == 503 else Status.UNAUTHENTICATED
            raise GrpcError(status, problem.detail) from None
