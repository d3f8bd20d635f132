"""A catalogue in etcd: the same promises as SQLite's, kept for several nodes at once.

Keys lie under a prefix of the cluster's own. A revision is etcd's: it begins above zero, and rises by more than one
where others write too. It still orders all changes, and an entry's revision is that of its last change.

A commit happens once. Each catalogue that is opened has a *writer* row, and every commit compares that row's revision
and puts a token of its own into it. An attempt that was cut off is tried again: if the first one did happen, the
comparison fails, the token is found there, and its revision is the answer. If nobody answers at all the outcome is not
known (`EtcdUnavailable`); the next commit first puts a new token into the row, and from then on a late attempt fails.

etcd takes a bounded number of operations at once (`--max-txn-ops`, 128). A commit of more is done in parts, in an order
that leaves nothing half to be seen. Rows of partitions count only together with the topic that they belong to: new ones
are put before everything else, old ones deleted after it. Rows that come in pairs (a topic that goes, and its row under
`deleting/`) stay together, for a part holds an even number.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from attrs import define, field

from engine.catalogue.catalogue import (
    CatalogueCompacted,
    CatalogueConflict,
    Commit,
    Compare,
    Delete,
    Entry,
    Event,
    Put,
    check_commit,
)
from engine.catalogue.etcd.gateway import (
    EtcdRefusal,
    EtcdUnavailable,
    Exchange,
    Gateway,
    decoded,
    encoded,
    number,
)
from engine.catalogue.records import PARTITIONS

RANGE, TXN, WATCH = "/v3/kv/range", "/v3/kv/txn", "/v3/watch"
MAX_OPERATIONS = 120
"""At once, less than etcd's default bound: the writer's row needs one, and a comparison may be added."""
PAGE = 5_000

T = TypeVar("T")
Operation = dict[str, Any]


@define(eq=False)
class EtcdCatalogue:
    """See the module. Calls block, and come one at a time."""

    gateway: Gateway
    prefix: str
    random_bytes: Callable[[int], bytes]
    _writer: str = field(init=False)
    _writer_revision: int | None = field(default=0, init=False)
    """Of the writer's row; None if it has to be found out."""
    _committing: threading.Lock = field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._writer = f"{self.prefix}/writers/{self.random_bytes(8).hex()}"

    # -- reading

    def revision(self) -> int:
        return _revision(self.gateway.call(RANGE, {"key": encoded(self._place("")), "count_only": True}))

    def get(self, key: str) -> Entry | None:
        answer = self.gateway.call(RANGE, {"key": encoded(self._place(key))})
        found = [self._entry(row) for row in answer.get("kvs", ())]
        return found[0] if found else None

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        """In pages, all of them as of one revision."""
        found: list[Entry] = []
        first, end = self._place(prefix), _after(self._place(prefix))
        asked: dict[str, Any] = {"range_end": encoded(end), "limit": PAGE}
        while True:
            answer = self.gateway.call(RANGE, {"key": encoded(first), **asked})
            rows = answer.get("kvs", ())
            found += [self._entry(row) for row in rows]
            revision = asked.setdefault("revision", _revision(answer))
            if not answer.get("more"):
                return revision, found
            first = decoded(rows[-1]["key"]) + b"\0"

    # -- committing

    def commit(self, commit: Commit) -> int:
        check_commit(commit)
        *earlier, last = _parts(commit)
        with self._committing:
            for part in earlier:
                self._take(part.compares, part.changes)
            return self._take(last.compares, last.changes)

    def _take(self, compares: Sequence[Compare], changes: Sequence[Put | Delete]) -> int:
        is_tracked = bool(changes)
        token = self.random_bytes(8)
        comparisons = [_same(self._place(each.key), each.revision) for each in compares]
        operations = [self._operation(each) for each in changes]
        looks = [{"request_range": {"key": encoded(self._place(each.key)), "keys_only": True}} for each in compares]
        if is_tracked:
            writer = self._writer.encode()
            comparisons.append(_same(writer, self._found_writer()))
            operations.append({"request_put": {"key": encoded(writer), "value": encoded(token)}})
            looks.append({"request_range": {"key": encoded(writer)}})
            self._writer_revision = None
        answer = self.gateway.call(TXN, {"compare": comparisons, "success": operations, "failure": looks})
        if answer.get("succeeded"):
            if is_tracked:
                self._writer_revision = _revision(answer)
            return _revision(answer)
        seen = [response.get("response_range", {}).get("kvs", [{}])[0] for response in answer.get("responses", ())]
        if is_tracked:
            row = seen.pop()
            self._writer_revision = number(row, "mod_revision")
            if decoded(row.get("value")) == token:
                # An attempt that was cut off had its effect.
                return self._writer_revision
        for compare, row in zip(compares, seen, strict=True):
            if number(row, "mod_revision") != compare.revision:
                raise CatalogueConflict(f"{compare.key} was changed meanwhile")
        raise CatalogueConflict("a commit that was cut off before has come in between")

    def _found_writer(self) -> int:
        """The revision of the writer's row. After an outcome that is not known the row is changed first: from then on
        an attempt that is still under way fails."""
        if self._writer_revision is None:
            writer = self._writer.encode()
            answer = self.gateway.call(RANGE, {"key": encoded(writer)})
            known = number(answer.get("kvs", [{}])[0], "mod_revision")
            fence = {"request_put": {"key": encoded(writer), "value": encoded(self.random_bytes(8))}}
            answer = self.gateway.call(TXN, {"compare": [_same(writer, known)], "success": [fence]})
            if not answer.get("succeeded"):
                raise EtcdUnavailable("a commit that was cut off is still on its way")
            self._writer_revision = _revision(answer)
        return self._writer_revision

    def _operation(self, change: Put | Delete) -> Operation:
        key = encoded(self._place(change.key))
        if isinstance(change, Put):
            return {"request_put": {"key": key, "value": encoded(change.value)}}
        return {"request_delete_range": {"key": key}}

    # -- watching

    def watch(self, after_revision: int, prefix: str = "") -> "EtcdWatch":
        return EtcdWatch(self.gateway, self._place(prefix), len(self._place("")), after_revision)

    def close(self) -> None:
        """The writer's row goes too, if etcd answers."""
        with suppress(EtcdUnavailable, EtcdRefusal):
            gone = {"request_delete_range": {"key": encoded(self._writer.encode())}}
            self.gateway.call(TXN, {"success": [gone]})
        self.gateway.close()

    def _place(self, key: str) -> bytes:
        return f"{self.prefix}/entries/{key}".encode()

    def _entry(self, row: Mapping[str, Any]) -> Entry:
        key = decoded(row["key"]).decode().removeprefix(f"{self.prefix}/entries/")
        return Entry(key, decoded(row.get("value")), number(row, "mod_revision"))


@define(eq=False)
class EtcdWatch:
    """Changes under a prefix, over connections of its own: when one breaks the next goes on where it ended."""

    _gateway: Gateway
    _prefix: bytes
    _stripped: int
    _seen_revision: int
    _exchange: Exchange | None = field(default=None, init=False)
    _text: bytes = field(default=b"", init=False)
    _ready: deque[Event] = field(factory=deque, init=False)
    _closed: bool = field(default=False, init=False)
    _reading: threading.Lock = field(factory=threading.Lock, init=False)

    def next(self, timeout_s: float) -> Sequence[Event]:
        """`EtcdUnavailable` if nobody answers; the next call tries again."""
        with self._reading:
            return () if self._closed else self._next(timeout_s)

    def _next(self, timeout_s: float) -> Sequence[Event]:
        try:
            exchange = self._exchange or self._open(timeout_s)
            exchange.wait(max(timeout_s, 0.001))
            self._receive(exchange)
        except TimeoutError:
            return ()
        except (OSError, EOFError) as error:
            self._drop()
            if self._closed:
                return ()
            raise EtcdUnavailable(f"the watch was cut off: {error or type(error).__name__}") from error
        events = list(self._ready)
        self._ready.clear()
        return events

    def close(self) -> None:
        """[any thread] A waiting `next` ends."""
        self._closed = True
        exchange = self._exchange
        if exchange is not None:
            exchange.interrupt()
        with self._reading:
            self._drop()

    def _open(self, timeout_s: float) -> Exchange:
        asked = {
            "key": encoded(self._prefix),
            "range_end": encoded(_after(self._prefix)),
            "start_revision": str(self._seen_revision + 1),
            "progress_notify": True,
        }
        self._text = b""
        self._exchange = self._gateway.open(WATCH, {"create_request": asked}, max(timeout_s, 1.0))
        if self._closed:
            self._exchange.interrupt()
        return self._exchange

    def _receive(self, exchange: Exchange) -> None:
        """Read until there are events. A `TimeoutError` in between loses nothing."""
        while not self._ready:
            while b"\n" not in self._text:
                piece = exchange.piece()
                if piece is None:
                    raise EOFError("the watch was ended")
                self._text += piece
            line, _, self._text = self._text.partition(b"\n")
            self._take(json.loads(line))

    def _take(self, message: Mapping[str, Any]) -> None:
        if "error" in message:
            raise EOFError(str(message["error"].get("message", message["error"])))
        result = message["result"]
        if result.get("canceled"):
            self._drop()
            if number(result, "compact_revision"):
                raise CatalogueCompacted(f"changes after revision {self._seen_revision} are no longer kept")
            raise EOFError(result.get("cancel_reason", "the watch was ended"))
        for event in result.get("events", ()):
            row = event["kv"]
            value = None if event.get("type") == "DELETE" else decoded(row.get("value"))
            key = decoded(row["key"])[self._stripped :].decode()
            self._ready.append(Event(number(row, "mod_revision"), key, value))
        if not result.get("created"):
            self._seen_revision = max(self._seen_revision, _revision(result))

    def _drop(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()


def _parts(commit: Commit) -> Sequence[Commit]:
    """The commit whole, if etcd takes it; otherwise in the order that the module's header tells."""
    if len(commit.changes) <= MAX_OPERATIONS and len(commit.compares) <= MAX_OPERATIONS:
        return [commit]
    new = [each for each in commit.changes if isinstance(each, Put) and each.key.startswith(PARTITIONS)]
    old = [each for each in commit.changes if isinstance(each, Delete) and each.key.startswith(PARTITIONS)]
    rest = [each for each in commit.changes if not each.key.startswith(PARTITIONS)]
    compares = {each.key: each for each in commit.compares}
    # All comparisons hold at the beginning, and each again with what it is about.
    parts = [Commit(tuple(some)) for some in _batched(commit.compares)]
    for some in _batched([*new, *rest, *old]):
        parts.append(Commit(tuple(compares[each.key] for each in some if each.key in compares), tuple(some)))
    return parts


def _batched(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), MAX_OPERATIONS):
        yield items[start : start + MAX_OPERATIONS]


def _same(key: bytes, revision: int) -> dict[str, Any]:
    return {"key": encoded(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}


def _revision(answer: Mapping[str, Any]) -> int:
    return number(answer.get("header", {}), "revision")


def _after(prefix: bytes) -> bytes:
    """The end of the range of all keys that begin so."""
    return prefix[:-1] + bytes([prefix[-1] + 1])
