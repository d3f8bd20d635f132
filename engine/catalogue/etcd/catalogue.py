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

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from attrs import define, field

from engine.catalogue.catalogue import (
    CatalogueConflict,
    Commit,
    Compare,
    Delete,
    Entry,
    OnNews,
    Put,
    check_commit,
)
from engine.catalogue.etcd.gateway import NOT_FOUND, EtcdRefusal, EtcdUnavailable, Gateway, decoded, encoded, number
from engine.catalogue.etcd.session import FAREWELL_S, EtcdSession
from engine.catalogue.etcd.watch import EtcdWatch, after
from engine.catalogue.records import PARTITIONS
from engine.metrics import Histogram

RANGE, TXN = "/v3/kv/range", "/v3/kv/txn"
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
    session: EtcdSession
    _writer: str = field(init=False)
    _writer_revision: int | None = field(default=0, init=False)
    """Of the writer's row; None if it has to be found out."""
    _committing: threading.Lock = field(factory=threading.Lock, init=False)
    _watches: list[EtcdWatch] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._writer = f"{self.prefix}/writers/{self.random_bytes(8).hex()}"

    @property
    def durations(self) -> Mapping[str, Histogram]:
        """How long etcd took to answer, by what was asked."""
        return self.gateway.durations

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
        first, end = self._place(prefix), after(self._place(prefix))
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
        lease_id = self.session.lease_id() if any(isinstance(each, Put) and each.ephemeral for each in changes) else 0
        operations = [self._operation(each, lease_id) for each in changes]
        looks = [{"request_range": {"key": encoded(self._place(each.key)), "keys_only": True}} for each in compares]
        if is_tracked:
            writer = self._writer.encode()
            comparisons.append(_same(writer, self._found_writer()))
            operations.append({"request_put": {"key": encoded(writer), "value": encoded(token)}})
            looks.append({"request_range": {"key": encoded(writer)}})
            self._writer_revision = None
        try:
            answer = self.gateway.call(TXN, {"compare": comparisons, "success": operations, "failure": looks})
        except EtcdRefusal as error:
            if lease_id and error.code == NOT_FOUND:
                self.session.lose(lease_id)
            raise
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

    def _operation(self, change: Put | Delete, lease_id: int) -> Operation:
        key = encoded(self._place(change.key))
        if isinstance(change, Put):
            lease = {"lease": str(lease_id)} if change.ephemeral else {}
            return {"request_put": {"key": key, "value": encoded(change.value), **lease}}
        return {"request_delete_range": {"key": key}}

    # -- watching

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> EtcdWatch:
        # All of the cluster's keys, the writers' too: so every commit is seen to be reached, whatever it changed.
        wanted, every = self._place(prefix), f"{self.prefix}/".encode()
        self._watches = [each for each in self._watches if not each.is_closed]
        self._watches.append(
            EtcdWatch(self.gateway, every, wanted, len(self._place("")), after_revision, self.session.wait, on_news)
        )
        return self._watches[-1]

    def close(self) -> None:
        """The writer's row goes too, if etcd answers."""
        for watch in self._watches:
            watch.close()
        self.session.close()
        farewell = self.gateway.another(FAREWELL_S)
        with suppress(EtcdUnavailable, EtcdRefusal):
            gone = {"request_delete_range": {"key": encoded(self._writer.encode())}}
            farewell.call(TXN, {"success": [gone]})
        farewell.close()
        self.gateway.close()

    def _place(self, key: str) -> bytes:
        return f"{self.prefix}/entries/{key}".encode()

    def _entry(self, row: Mapping[str, Any]) -> Entry:
        key = decoded(row["key"]).decode().removeprefix(f"{self.prefix}/entries/")
        return Entry(key, decoded(row.get("value")), number(row, "mod_revision"))


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
