"""Writes records in batches, by a task of its own."""

import asyncio
import time
from types import TracebackType
from typing import Any

import grpc

from tidegate.client.asking import ACKS, PARTITIONERS, chosen, outcomes, send_request
from tidegate.client.batching import BatchBounds, Batching, ReadyBatch
from tidegate.client.channels import ChannelPool
from tidegate.client.retrying import PASSING, Backoff, client_error
from tidegate.client.values import Headers, Written, new_record

Outcome = asyncio.Future[Written]


class AsyncRecordProducer:
    """See the module. What is tried again may be written twice: at least once is what is promised."""

    def __init__(self, pool: ChannelPool, bounds: BatchBounds, acks: str, partitioner: str, deadline_s: float) -> None:
        self._pool = pool
        self._acks = chosen(ACKS, acks, "acks")
        self._partitioner = chosen(PARTITIONERS, partitioner, "partitioner")
        self._deadline_s = deadline_s
        self._batching: Batching[Outcome] = Batching(bounds)
        self._changed = asyncio.Event()
        self._settled = asyncio.Condition()
        self._sending: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "AsyncRecordProducer":
        self._task = asyncio.get_running_loop().create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.flush()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        **asking: Any,
    ) -> "asyncio.Future[Written]":
        """Have a record written; the future tells where it lies, or raises why not. It waits while very many records
        are on their way. `asking`: delay_ms, deliver_at_ms, schedule_id, cancel, priority, ttl_ms."""
        if self._task is None:
            raise RuntimeError("a producer is used within `async with`")
        record = new_record(value, key, headers, partition=partition, timestamp_ms=timestamp_ms, **asking)
        async with self._settled:
            await self._settled.wait_for(lambda: not self._batching.is_full)
        waiting: Outcome = asyncio.get_running_loop().create_future()
        self._batching.add(topic, record, waiting, time.monotonic())
        self._changed.set()
        return waiting

    async def flush(self) -> None:
        """Wait until everything has its outcome."""
        self._batching.flush()
        self._changed.set()
        async with self._settled:
            await self._settled.wait_for(lambda: not self._batching.count)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            for batch in self._batching.take_due(time.monotonic()):
                task = loop.create_task(self._send(batch))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)
            next_due = self._batching.next_due()
            pause_s = None if next_due is None else max(0.0, next_due - time.monotonic())
            try:
                await asyncio.wait_for(self._changed.wait(), pause_s)
            except TimeoutError:
                continue

    async def _send(self, batch: ReadyBatch[Outcome]) -> None:
        found: list[Any]
        try:
            found = list(await self._sent(batch))
        except Exception as error:
            found = [error] * len(batch.records)
        for waiting, outcome in zip(batch.waiting, found, strict=True):
            if waiting.done():
                continue  # whoever waited does so no more
            if isinstance(outcome, Exception):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome)
        self._batching.done(batch)
        self._changed.set()
        async with self._settled:
            self._settled.notify_all()

    async def _sent(self, batch: ReadyBatch[Outcome]) -> Any:
        backoff = Backoff(self._deadline_s, time.monotonic)
        while True:
            left_s = max(backoff.left_s, 0.001)
            request = send_request(batch, self._acks, self._partitioner, left_s)
            try:
                answer = await self._pool.method("send")(request, timeout=left_s, metadata=self._pool.metadata)
                return outcomes(batch, answer)
            except grpc.RpcError as error:
                pause_s = backoff.pause_s() if error.code() in PASSING else None
                if pause_s is None:
                    raise client_error(error) from None
                await asyncio.sleep(pause_s)
