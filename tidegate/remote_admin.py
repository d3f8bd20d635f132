"""The administration of a broker in another process, over its operations door; needs no package of the broker."""

import http.client
import json
import ssl
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from attrs import define, field, fields

from tidegate.admin_results import (
    AdminError,
    DelayedRecord,
    DelayReport,
    DelayStatistics,
    DueBucket,
    Fate,
    Header,
    Lateness,
    NoSuchRecord,
    NotAllowed,
    PendingPage,
    PendingRecord,
    PriorityStatistics,
    Unreachable,
    admin_error,
)

TIMEOUT_S = 40.0
"""Longer than the broker takes at most to change something."""
PAGE = 1_000
Json = dict[str, Any]


@define(eq=False)
class RemoteAdmin:
    """See `tidegate.admin`. Every call is a connection of its own, so that one object serves any number of threads."""

    url: str
    token: str | None = field(default=None, repr=False)
    timeout_s: float = TIMEOUT_S
    user: tuple[str, str] | None = field(default=None, repr=False, kw_only=True)
    """Name and password, for a door that takes those; a token goes before."""
    tls: ssl.SSLContext | None = field(default=None, kw_only=True)
    """For `https`: whose certificates are believed, and which one is shown. None: the system's authorities."""
    missing_nodes: tuple[int, ...] = field(default=(), init=False)
    """Of a cluster: who could not be asked for the figures that were asked for last, and whose part is not in them."""

    def __attrs_post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"the broker's address must be like http://127.0.0.1:8080, not {self.url!r}")

    # -- seeing

    def list_pending(
        self,
        topic: str,
        *,
        limit: int = 100,
        skip: int = 0,
        order: str = "due",
        partition: int | None = None,
        due_from_ms: int | None = None,
        due_until_ms: int | None = None,
    ) -> PendingPage:
        """Records that wait for their time, in order of due time, or as they came with `order="number"`."""
        query = {
            "limit": limit,
            "skip": skip,
            "order": order,
            "partition": partition,
            "due_from_ms": due_from_ms,
            "due_until_ms": due_until_ms,
        }
        found = self._get(_path("topics", topic, "delayed"), query)
        return PendingPage(tuple(map(read_record, found["items"])), found["total"], found["next_skip"])

    def count_pending(self, topic: str, partition: int | None = None) -> int:
        """How many records wait for their time."""
        return sum(bucket.records for bucket in self.histogram(topic, [0], partition))

    def histogram(
        self, topic: str, edges_ms: Sequence[int] | None = None, partition: int | None = None
    ) -> tuple[DueBucket, ...]:
        """How many records are due before the first edge, from each edge to the next, and from the last one on."""
        edges = None if edges_ms is None else ",".join(map(str, edges_ms))
        found = self._get(_path("topics", topic, "delayed", "histogram"), {"edges_ms": edges, "partition": partition})
        return tuple(DueBucket(**bucket) for bucket in found["buckets"])

    def look(self, topic: str, partition: int, record_id: str) -> DelayedRecord:
        """One record, pending or gone; NoSuchRecord if nothing is known of it."""
        return read_delayed(self._get(_record_path(topic, partition, record_id)))

    def fate(self, topic: str, partition: int, record_id: str) -> Fate:
        """What became of a record."""
        try:
            found = self.look(topic, partition, record_id)
        except NoSuchRecord:
            return Fate("UNKNOWN")
        return Fate(found.fate, found.offset, found.at_ms)

    def find(self, topic: str, record_id: str) -> tuple[DelayedRecord, ...]:
        """The partitions that know this id, each with what became of it."""
        return tuple(map(read_delayed, self._all(_path("topics", topic, "delayed", "fates"), {"id": record_id})))

    # -- changing

    def cancel(self, topic: str, partition: int, record_id: str) -> None:
        """Take back a record that waits."""
        self._ask("DELETE", _record_path(topic, partition, record_id))

    def reschedule(
        self,
        topic: str,
        partition: int,
        record_id: str,
        *,
        deliver_at_ms: int | None = None,
        delay_ms: int | None = None,
    ) -> int:
        """Move a record that waits to another time, which is returned; a delay counts from now."""
        body = {"deliver_at_ms": deliver_at_ms, "delay_ms": delay_ms}
        return self._change(topic, partition, record_id, body)

    def release_now(self, topic: str, partition: int, record_id: str) -> None:
        """Have a record that waits be due now; it is in the log, or its lane, a moment later."""
        self._change(topic, partition, record_id, {"release_now": True})

    def _change(self, topic: str, partition: int, record_id: str, body: Json) -> int:
        given = {name: value for name, value in body.items() if value is not None}
        due_ms: int = self._ask("PATCH", _record_path(topic, partition, record_id), given)["due_ms"]
        return due_ms

    def release_shared(
        self,
        group: str,
        member: str | None = None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        first_offset: int | None = None,
        last_offset: int | None = None,
        delay_ms: int = 0,
    ) -> int:
        """Take back what a member of a share group has, or all of them, or some of it: how many records that are. With
        a delay nobody is given them before it is over."""
        order = {
            "member": member,
            "topic": topic,
            "partition": partition,
            "first_offset": first_offset,
            "last_offset": last_offset,
            "delay_ms": delay_ms or None,
        }
        given = {name: value for name, value in order.items() if value is not None}
        return int(self._ask("POST", _path("share-groups", group, "release"), given)["released"])

    # -- figures

    def delay_statistics(self) -> DelayReport:
        """What is pending, when the next is due, what was released and how late; in all and by topic."""
        first = self._get("/delay/stats", {"limit": 1})
        topics = tuple(map(read_delays, self._all("/delay/stats", {})))
        return DelayReport(read_delays(first["sum"]), topics)

    def priority_statistics(self, topic: str | None = None) -> tuple[PriorityStatistics, ...]:
        """Every prioritised partition, by topic and number."""
        return tuple(map(read_lanes, self._all("/priority/stats", {"topic": topic})))

    # -- over the wire

    def _all(self, path: str, query: Mapping[str, Any]) -> Iterator[Json]:
        """The items of every page."""
        skip = 0
        while True:
            page = self._get(path, {**query, "limit": PAGE, "skip": skip})
            self.missing_nodes = tuple(page.get("missing_nodes", ()))
            yield from page["items"]
            skip += PAGE
            if skip >= page["total"]:
                return

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Json:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._ask("GET", f"{path}?{urlencode(given)}" if given else path)

    def _ask(self, method: str, target: str, body: Json | None = None) -> Json:
        connection = self._connection()
        sent = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, self._base + target, sent, self._headers(body is not None))
            response = connection.getresponse()
            return _answer(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.url} does not answer: {error or type(error).__name__}") from error
        finally:
            connection.close()

    @property
    def _base(self) -> str:
        return urlsplit(self.url).path.rstrip("/")

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=self.timeout_s, context=self.tls)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.timeout_s)

    def _headers(self, has_body: bool) -> dict[str, str]:
        headers = {"Accept": "application/json", "X-Tidegate": "1"}
        if has_body:
            headers["Content-Type"] = "application/json"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.user is not None:
            headers["Authorization"] = "Basic " + b64encode(":".join(self.user).encode()).decode()
        return headers


def _answer(status: int, body: bytes) -> Json:
    try:
        said = json.loads(body) if body else {}
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise AdminError(f"this is no broker's operations door: it answers {status} with {body[:60]!r}")
    if status == HTTPStatus.UNAUTHORIZED:
        raise NotAllowed(str(said.get("detail") or "a token is needed"))
    if status >= 300:
        raise admin_error(str(said.get("detail") or said.get("title") or status), str(said.get("error", "")))
    return said


def _path(*segments: str) -> str:
    return "".join("/" + quote(segment, safe="") for segment in segments)


def _record_path(topic: str, partition: int, record_id: str) -> str:
    return _path("topics", topic, "delayed", str(partition), record_id)


# -- values out of JSON, as `wire/http/pending.py` writes it


def read_record(found: Json) -> PendingRecord:
    """A record that waits."""
    plain = {name: value for name, value in found.items() if name not in ("key", "key_base64", "headers")}
    headers = tuple(Header(each["name"], _bytes(each, "value")) for each in found["headers"])
    return PendingRecord(key=_bytes(found, "key"), headers=headers, **plain)


def read_delayed(found: Json) -> DelayedRecord:
    """A record by its id."""
    plain = {name: value for name, value in found.items() if name not in ("record", "value", "value_base64")}
    record = None if found["record"] is None else read_record(found["record"])
    return DelayedRecord(**plain, record=record, value=_bytes(found, "value"))


def read_delays(found: Json) -> DelayStatistics:
    """The figures of a topic, or of all."""
    return DelayStatistics(**{**found, "lateness": Lateness(**_frozen(found["lateness"]))})


def read_lanes(found: Json) -> PriorityStatistics:
    """The lanes of a partition."""
    known = {each.name: found[each.name] for each in fields(PriorityStatistics)}
    return PriorityStatistics(**_frozen(known))


def _bytes(found: Json, name: str) -> bytes | None:
    """Bytes come as text where they are text, else in base64."""
    text, base64 = found[name], found[f"{name}_base64"]
    if text is not None:
        return str(text).encode()
    return None if base64 is None else b64decode(base64)


def _frozen(found: Json) -> Json:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
