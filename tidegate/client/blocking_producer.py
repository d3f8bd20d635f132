"""Writes records in batches, by a thread of its own."""

import threading
import time
from concurrent.futures import Future
from types import TracebackType
from typing import Any

import grpc

from tidegate.client.asking import ACKS, PARTITIONERS, chosen, outcomes, send_request
from tidegate.client.batching import BatchBounds, Batching, ReadyBatch
from tidegate.client.channels import ChannelPool
from tidegate.client.retrying import PASSING, Backoff, client_error
from tidegate.client.values import Headers, RecordRefused, Written, new_record

Outcome = Future[Written]


class RecordProducer:
    """See the module. What is tried again may be written twice: at least once is what is promised."""

    def __init__(self, pool: ChannelPool, bounds: BatchBounds, acks: str, partitioner: str, deadline_s: float) -> None:
        self._pool = pool
        self._acks = chosen(ACKS, acks, "acks")
        self._partitioner = chosen(PARTITIONERS, partitioner, "partitioner")
        self._deadline_s = deadline_s
        self._batching: Batching[Outcome] = Batching(bounds)
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="tidegate-producer", daemon=True)
        self._thread.start()

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        **asking: Any,
    ) -> "Future[Written]":
        """Have a record written; the future tells where it lies, or raises why not. It waits while very many records
        are on their way. `asking`: delay_ms, deliver_at_ms, schedule_id, cancel, priority, ttl_ms."""
        record = new_record(value, key, headers, partition=partition, timestamp_ms=timestamp_ms, **asking)
        waiting: Outcome = Future()
        with self._changed:
            while self._batching.is_full and not self._is_closed:
                self._changed.wait()
            if self._is_closed:
                raise RuntimeError("the producer is closed")
            self._batching.add(topic, record, waiting, time.monotonic())
            self._changed.notify_all()
        return waiting

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until everything has its outcome; False if that takes longer."""
        with self._changed:
            self._batching.flush()
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._batching.count, timeout_s)

    def close(self) -> None:
        """Flush, and take nothing more."""
        self.flush()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def __enter__(self) -> "RecordProducer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # -- the thread

    def _run(self) -> None:
        while True:
            with self._changed:
                due = list(self._batching.take_due(time.monotonic()))
                if not due:
                    if self._is_closed:
                        return
                    next_due = self._batching.next_due()
                    self._changed.wait(None if next_due is None else max(0.0, next_due - time.monotonic()))
                    continue
            for batch in due:
                self._start(batch, Backoff(self._deadline_s, time.monotonic))

    def _start(self, batch: ReadyBatch[Outcome], backoff: Backoff) -> None:
        left_s = max(backoff.left_s, 0.001)
        request = send_request(batch, self._acks, self._partitioner, left_s)
        try:
            call = self._pool.method("send").future(request, timeout=left_s, metadata=self._pool.metadata)  # type: ignore[attr-defined]
        except ValueError as error:  # the client was closed
            self._settle(batch, [error] * len(batch.records))
            return
        call.add_done_callback(lambda done: self._done(done, batch, backoff))

    def _done(self, call: Any, batch: ReadyBatch[Outcome], backoff: Backoff) -> None:
        """[a thread of gRPC's]"""
        error = call.exception() if not call.cancelled() else grpc.FutureCancelledError()
        if error is None:
            self._settle(batch, outcomes(batch, call.result()))
            return
        pause_s = backoff.pause_s() if isinstance(error, grpc.RpcError) and error.code() in PASSING else None
        if pause_s is not None:
            again = threading.Timer(pause_s, self._start, (batch, backoff))
            again.daemon = True
            again.start()
            return
        failure = client_error(error) if isinstance(error, grpc.RpcError) else error
        self._settle(batch, [failure] * len(batch.records))

    def _settle(self, batch: ReadyBatch[Outcome], found: "list[Any]") -> None:
        for waiting, outcome in zip(batch.waiting, found, strict=True):
            if isinstance(outcome, Exception | RecordRefused):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome)
        with self._changed:
            self._batching.done(batch)
            self._changed.notify_all()
