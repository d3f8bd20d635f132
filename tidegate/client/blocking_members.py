"""Members of groups and share groups, each on a stream of its own, which is opened anew where it breaks."""

import queue
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import grpc

from tidegate.client.asking import EDGES, SETTLEMENTS, chosen, leases, poll
from tidegate.client.channels import ChannelPool
from tidegate.client.messages import consume_pb2
from tidegate.client.messages.records_pb2 import PartitionOffset
from tidegate.client.retrying import REJOINING, Backoff, ClientError, client_error
from tidegate.client.values import Consumed, Lease, RecordRefused, all_consumed, refused


class _MemberStream:
    """A stream that begins with a join; one question at a time."""

    def __init__(self, pool: ChannelPool, method: str, join: Any, deadline_s: float) -> None:
        self._pool, self._method, self._join = pool, method, join
        self._deadline_s = deadline_s
        self._questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._call: Any = None
        self.joins = 0
        """How often it was opened."""

    def ask(self, question: Any, kind: str) -> Any:
        """The answer of this kind; the stream is opened anew as long as the deadline lets it."""
        backoff = Backoff(self._deadline_s, time.monotonic)
        while True:
            try:
                self._open()
                self._questions.put(question)
                return self._answer(kind)
            except grpc.RpcError as error:
                self._questions.put(None)
                self._call = None
                pause_s = backoff.pause_s() if error.code() in REJOINING else None
                if pause_s is None:
                    raise client_error(error) from None
                time.sleep(pause_s)

    def _open(self) -> None:
        if self._call is None:
            self._questions = queue.SimpleQueue()
            self._questions.put(self._join)
            questions = iter(self._questions.get, None)
            self._call = self._pool.method(self._method)(questions, metadata=self._pool.metadata)
            self.joins += 1
            self._answer("joined")

    def _answer(self, kind: str) -> Any:
        for answer in self._call:
            if answer.WhichOneof("response") == kind:
                return getattr(answer, kind)
        raise ClientError("the broker has ended the stream")

    def close(self) -> None:
        """Leave."""
        call, self._call = self._call, None
        if call is not None:
            self._questions.put(None)
            for _ in call if call.is_active() else ():
                pass


class _Leaving:
    """Leaves at the end of a block."""

    _stream: _MemberStream

    def close(self) -> None:
        """Leave the group."""
        with suppress(grpc.RpcError):  # then it is left when the broker notices
            self._stream.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class GroupReader(_Leaving):
    """A member of a group. One thread at a time."""

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
        self._stream = _MemberStream(pool, "group", consume_pb2.GroupRequest(join=join), deadline_s)

    def __enter__(self) -> "GroupReader":
        return self

    def poll(self, *, max_records: int = 500, wait_s: float = 1.0) -> list[Consumed]:
        """Records that the member has not had; none after `wait_s`. What it had before counts as done with this."""
        question = consume_pb2.GroupRequest(poll=poll(max_records, wait_s))
        polled = self._stream.ask(question, "polled")
        return [record for portion in polled.partitions for record in all_consumed(portion)]

    def __iter__(self) -> Iterator[Consumed]:
        """On and on."""
        while True:
            yield from self.poll(wait_s=10.0)

    def commit(self, offsets: Mapping[tuple[str, int], int] | None = None) -> None:
        """Commit where to read on, by topic and partition; without any, after all that was polled."""
        entries = [
            PartitionOffset(topic=topic, partition=partition, offset=offset)
            for (topic, partition), offset in (offsets or {}).items()
        ]
        request = consume_pb2.GroupRequest(commit=consume_pb2.GroupCommit(offsets=entries))
        answer = self._stream.ask(request, "committed")
        if answer.HasField("refusal"):
            raise ClientError(f"{answer.refusal.error}: {answer.refusal.message}", error=answer.refusal.error)


class ShareReader(_Leaving):
    """A worker of a share group. One thread at a time."""

    def __init__(
        self, pool: ChannelPool, group: str, topics: Sequence[str], session_timeout_ms: int, deadline_s: float
    ) -> None:
        join = consume_pb2.ShareJoin(group=group, topics=topics, session_timeout_ms=session_timeout_ms)
        self._stream = _MemberStream(pool, "share", consume_pb2.ShareRequest(join=join), deadline_s)

    def __enter__(self) -> "ShareReader":
        return self

    def poll(self, *, max_records: int = 100, wait_s: float = 1.0) -> list[Lease]:
        """Records to work on; none after `wait_s`."""
        return leases(self._stream.ask(consume_pb2.ShareRequest(poll=poll(max_records, wait_s)), "lent"))

    def ack(self, *lent: Lease) -> None:
        """Done."""
        self._settle("ack", lent)

    def nack(self, *lent: Lease, delay_ms: int | None = None) -> None:
        """Again, for whoever is there; after a while if one says so."""
        self._settle("nack", lent, delay_ms)

    def reject(self, *lent: Lease) -> None:
        """Never again: a dead letter."""
        self._settle("reject", lent)

    def renew(self, *lent: Lease) -> None:
        """More time."""
        self._settle("renew", lent)

    def _settle(self, how: str, lent: Sequence[Lease], delay_ms: int | None = None) -> None:
        """`RecordRefused` if one of them does not count any more: the first says why."""
        settle = consume_pb2.Settle(
            receipts=[each.receipt for each in lent], settlement=SETTLEMENTS[how], delay_ms=delay_ms
        )
        answer = self._stream.ask(consume_pb2.ShareRequest(settle=settle), "settled")
        found: list[RecordRefused] = [refused(each.refusal) for each in answer.refused]
        if found:
            raise found[0]
