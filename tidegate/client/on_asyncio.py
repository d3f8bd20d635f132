"""The client for asyncio: the same as the other, awaited."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from tidegate.client.asking import first_offsets, read_request
from tidegate.client.asyncio_members import AsyncGroupReader, AsyncShareReader
from tidegate.client.asyncio_producer import AsyncRecordProducer
from tidegate.client.batching import BatchBounds
from tidegate.client.channels import ChannelPool, Login, Tls, Way
from tidegate.client.messages import admin_pb2
from tidegate.client.retrying import PASSING, Backoff, client_error
from tidegate.client.values import Consumed, Position, all_consumed


class AsyncClient:
    """A broker, or a cluster by several of its nodes. Made and used in one event loop; close it in the end."""

    def __init__(
        self,
        *addresses: str,
        login: Login | None = None,
        tls: Tls | None = None,
        client_id: str | None = None,
        pool_size: int = 2,
        deadline_s: float = 30.0,
    ) -> None:
        """`deadline_s` is how long anything is tried, and tried again, before it fails."""
        self._pool = ChannelPool(Way(addresses, login or Login(), tls, client_id), pool_size, grpc.aio)
        self._deadline_s = deadline_s

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections."""
        for channel in self._pool.channels:
            await channel.close()

    # -- records

    def producer(
        self,
        *,
        acks: str = "all",
        partitioner: str = "hash",
        linger_ms: float = 5.0,
        batch_records: int = 100,
        batch_bytes: int = 64 * 1024,
    ) -> AsyncRecordProducer:
        """Writes records in batches; `linger_ms=0` sends each at once that nothing is before."""
        bounds = BatchBounds(batch_records, batch_bytes, linger_ms / 1000)
        return AsyncRecordProducer(self._pool, bounds, acks, partitioner, self._deadline_s)

    async def read(
        self,
        topic: str,
        *,
        start: Position = "earliest",
        partitions: Sequence[int] | None = None,
        until_end: bool = False,
    ) -> AsyncIterator[Consumed]:
        """Records of a topic, partition by partition as they come; on and on unless `until_end`. Where the broker is
        gone for a while it is read on from where one was."""
        described = await self._ask("describe_topic", admin_pb2.DescribeTopicRequest(topic=topic))
        offsets = first_offsets(described, start, partitions)
        backoff = Backoff(self._deadline_s, time.monotonic)
        while True:
            call = self._pool.method("read")(
                read_request(topic, offsets, until_end=until_end), metadata=self._pool.metadata, wait_for_ready=True
            )
            try:
                async for portion in call:
                    backoff.succeeded()
                    for record in all_consumed(portion):
                        offsets[record.partition] = record.offset + 1
                        yield record
                    offsets[portion.partition] = portion.next_offset
                return
            except grpc.RpcError as error:
                await _pause(error, backoff)
            finally:
                call.cancel()

    def group(
        self,
        group: str,
        topics: Sequence[str],
        *,
        reset: str = "latest",
        auto_commit_ms: int = 5_000,
        session_timeout_ms: int = 30_000,
    ) -> AsyncGroupReader:
        """A member of a group, which it shares with Kafka's consumers. `auto_commit_ms=-1` leaves it to `commit`."""
        return AsyncGroupReader(
            self._pool, group, tuple(topics), reset, auto_commit_ms, session_timeout_ms, self._deadline_s
        )

    def share(self, group: str, topics: Sequence[str], *, session_timeout_ms: int = 30_000) -> AsyncShareReader:
        """A worker of a share group."""
        return AsyncShareReader(self._pool, group, tuple(topics), session_timeout_ms, self._deadline_s)

    # -- administration

    async def create_topic(
        self, topic: str, partitions: int = 0, *, replication_factor: int = 0, configs: dict[str, str] | None = None
    ) -> int:
        """Make a topic; how many partitions it has."""
        request = admin_pb2.CreateTopicRequest(
            topic=topic, partitions=partitions, replication_factor=replication_factor, configs=configs or {}
        )
        found: int = (await self._ask("create_topic", request)).partitions
        return found

    async def topics(self) -> dict[str, int]:
        """How many partitions each has."""
        found = await self._ask("list_topics", admin_pb2.ListTopicsRequest())
        return {each.name: each.partitions for each in found.topics}

    async def delete_topic(self, topic: str) -> None:
        """With all that is in it."""
        await self._ask("delete_topic", admin_pb2.DeleteTopicRequest(topic=topic))

    async def delayed(self, topic: str) -> dict[str, int]:
        """The ids of records that are held back, the next first, and when each is due (milliseconds since 1970)."""
        found = await self._ask("list_delayed", admin_pb2.ListDelayedRequest(topic=topic))
        return {each.id: each.due_ms for each in found.records}

    async def cancel_delayed(self, topic: str, record_id: str) -> None:
        """Take a record back that is held back."""
        await self._ask("cancel_delayed", admin_pb2.GetDelayedRequest(topic=topic, id=record_id))

    async def _ask(self, name: str, request: Any) -> Any:
        def ask(left_s: float) -> Awaitable[Any]:
            found: Awaitable[Any] = self._pool.method(name)(request, timeout=left_s, metadata=self._pool.metadata)
            return found

        return await persistently(ask, Backoff(self._deadline_s, time.monotonic))


async def persistently(ask: Callable[[float], Awaitable[Any]], backoff: Backoff) -> Any:
    """Ask until there is an answer; `ClientError` for a refusal, or when the time is over."""
    while True:
        try:
            return await ask(backoff.left_s)
        except grpc.RpcError as error:
            await _pause(error, backoff)


async def _pause(error: grpc.RpcError, backoff: Backoff) -> None:
    """Wait before the next try; raise what went wrong if there is to be none."""
    pause_s = backoff.pause_s() if error.code() in PASSING else None
    if pause_s is None:
        raise client_error(error) from None
    await asyncio.sleep(pause_s)
