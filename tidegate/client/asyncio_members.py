"""Members of groups and share groups for asyncio, each on a stream of its own, which is opened anew where it breaks."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from tidegate.client.asking import EDGES, SETTLEMENTS, chosen, leases, poll
from tidegate.client.channels import ChannelPool
from tidegate.client.messages import consume_pb2
from tidegate.client.messages.records_pb2 import PartitionOffset
from tidegate.client.retrying import REJOINING, Backoff, ClientError, client_error
from tidegate.client.values import Consumed, Lease, all_consumed, refused


class _AsyncMemberStream:
    """A stream that begins with a join; one question at a time."""

    def __init__(self, pool: ChannelPool, method: str, join: Any, deadline_s: float) -> None:
        self._pool, self._method, self._join = pool, method, join
        self._deadline_s = deadline_s
        self._call: Any = None

    async def ask(self, question: Any, kind: str) -> Any:
        """The answer of this kind; the stream is opened anew as long as the deadline lets it."""
        backoff = Backoff(self._deadline_s, time.monotonic)
        while True:
            try:
                await self._open()
                await self._call.write(question)
                return await self._answer(kind)
            except grpc.RpcError as error:
                self._call = None
                pause_s = backoff.pause_s() if error.code() in REJOINING else None
                if pause_s is None:
                    raise client_error(error) from None
                await asyncio.sleep(pause_s)

    async def _open(self) -> None:
        if self._call is None:
            self._call = self._pool.method(self._method)(metadata=self._pool.metadata)
            await self._call.write(self._join)
            await self._answer("joined")

    async def _answer(self, kind: str) -> Any:
        while True:
            answer = await self._call.read()
            if answer is grpc.aio.EOF:
                raise ClientError("the broker has ended the stream")
            if answer.WhichOneof("response") == kind:
                return getattr(answer, kind)

    async def close(self) -> None:
        """Leave."""
        call, self._call = self._call, None
        if call is not None:
            await call.done_writing()
            while await call.read() is not grpc.aio.EOF:
                pass


class _AsyncLeaving:
    """Leaves at the end of a block."""

    _stream: _AsyncMemberStream

    async def close(self) -> None:
        """Leave the group."""
        with suppress(grpc.RpcError, asyncio.InvalidStateError):  # then it is left when the broker notices
            await self._stream.close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


class AsyncGroupReader(_AsyncLeaving):
    """A member of a group. One task at a time."""

    def __init__(
        self,
        pool: ChannelPool,
        group: str,
        topics: Sequence[str],
        reset: str,
        auto_commit_ms: int,
        session_timeout_ms: int,
        deadline_s: float,
    ) -> None:
        join = consume_pb2.GroupJoin(
            group=group,
            topics=topics,
            reset=chosen(EDGES, reset, "reset"),
            auto_commit_ms=auto_commit_ms,
            session_timeout_ms=session_timeout_ms,
        )
        self._stream = _AsyncMemberStream(pool, "group", consume_pb2.GroupRequest(join=join), deadline_s)

    async def __aenter__(self) -> "AsyncGroupReader":
        return self

    async def poll(self, *, max_records: int = 500, wait_s: float = 1.0) -> list[Consumed]:
        """Records that the member has not had; none after `wait_s`. What it had before counts as done with this."""
        polled = await self._stream.ask(consume_pb2.GroupRequest(poll=poll(max_records, wait_s)), "polled")
        return [record for portion in polled.partitions for record in all_consumed(portion)]

    async def __aiter__(self) -> AsyncIterator[Consumed]:
        """On and on."""
        while True:
            for record in await self.poll(wait_s=10.0):
                yield record

    async def commit(self, offsets: Mapping[tuple[str, int], int] | None = None) -> None:
        """Commit where to read on, by topic and partition; without any, after all that was polled."""
        entries = [
            PartitionOffset(topic=topic, partition=partition, offset=offset)
            for (topic, partition), offset in (offsets or {}).items()
        ]
        request = consume_pb2.GroupRequest(commit=consume_pb2.GroupCommit(offsets=entries))
        answer = await self._stream.ask(request, "committed")
        if answer.HasField("refusal"):
            raise ClientError(f"{answer.refusal.error}: {answer.refusal.message}", error=answer.refusal.error)


class AsyncShareReader(_AsyncLeaving):
    """A worker of a share group. One task at a time."""

    def __init__(
        self, pool: ChannelPool, group: str, topics: Sequence[str], session_timeout_ms: int, deadline_s: float
    ) -> None:
        join = consume_pb2.ShareJoin(group=group, topics=topics, session_timeout_ms=session_timeout_ms)
        self._stream = _AsyncMemberStream(pool, "share", consume_pb2.ShareRequest(join=join), deadline_s)

    async def __aenter__(self) -> "AsyncShareReader":
        return self

    async def poll(self, *, max_records: int = 100, wait_s: float = 1.0) -> list[Lease]:
        """Records to work on; none after `wait_s`."""
        return leases(await self._stream.ask(consume_pb2.ShareRequest(poll=poll(max_records, wait_s)), "lent"))

    async def ack(self, *lent: Lease) -> None:
        """Done."""
        await self._settle("ack", lent)

    async def nack(self, *lent: Lease, delay_ms: int | None = None) -> None:
        """Again, for whoever is there; after a while if one says so."""
        await self._settle("nack", lent, delay_ms)

    async def reject(self, *lent: Lease) -> None:
        """Never again: a dead letter."""
        await self._settle("reject", lent)

    async def renew(self, *lent: Lease) -> None:
        """More time."""
        await self._settle("renew", lent)

    async def _settle(self, how: str, lent: Sequence[Lease], delay_ms: int | None = None) -> None:
        """`RecordRefused` if one of them does not count any more: the first says why."""
        settle = consume_pb2.Settle(
            receipts=[each.receipt for each in lent], settlement=SETTLEMENTS[how], delay_ms=delay_ms
        )
        answer = await self._stream.ask(consume_pb2.ShareRequest(settle=settle), "settled")
        found = [refused(each.refusal) for each in answer.refused]
        if found:
            raise found[0]
