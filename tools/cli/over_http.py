"""Records by a broker's HTTP door alone, for who reaches no Kafka port: `produce --http URL`, `consume --http URL`.

By the routes of REST v2 (docs/rest.md). A group's member is a consumer there; without a group, partitions are assigned
to one whose group nobody else has, and nothing is committed.
"""

import http.client
import json
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import typer
from attrs import define, field, frozen

from tidegate.admin import AdminError, NotAllowed, Unreachable
from tools.cli.door import Door, door_at
from tools.cli.door import spoken as spoken_by
from tools.cli.errors import Refused, UsageMistake
from tools.cli.formats import Record
from tools.cli.framework import Session, spoken
from tools.cli.inputs import NewRecord
from tools.cli.reading import Filter
from tools.cli.sending import Sent

SENT_AT_ONCE = 500
POLL_MS = 1_000
GRACE_S = 15.0


def is_meant(context: typer.Context) -> bool:
    """Whether the command line names the HTTP door, and no Kafka address."""
    given = spoken(context)
    return given.get("http") is not None and given.get("bootstrap") is None


def refuse_others(context: typer.Context, allowed: Sequence[str], why: str) -> None:
    """Say which of the given options there is not over HTTP."""
    options = {each.name: each.opts[0] for each in context.command.params}
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in allowed and source is not None and source.name == "COMMANDLINE":
            raise UsageMistake(f"--http and {options[name]} exclude each other", why)


class RestDoor(Door):
    """The door, and its routes that answer as REST v2 does."""

    def rest(self, method: str, path: Sequence[str], body: Any = None, *, query: str = "", wait_s: float = 0.0) -> Any:
        """The answer, of whichever kind; None if there is none."""
        target = self._base + "".join("/" + quote(each, safe="") for each in path) + query
        connection = self._connection()
        connection.timeout = self.timeout_s + wait_s
        sent = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, target, sent, self._headers(body is not None))
            response = connection.getresponse()
            return _said(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.url} does not answer: {error or type(error).__name__}") from error
        finally:
            connection.close()


def _said(status: int, body: bytes) -> Any:
    try:
        said = json.loads(body) if body else None
    except ValueError:
        raise AdminError(f"this is no broker's HTTP door: it answers {status} with {body[:60]!r}") from None
    if status == HTTPStatus.UNAUTHORIZED:
        raise NotAllowed("a token is needed")
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        known = said if isinstance(said, dict) else {}
        raise AdminError(str(known.get("message") or known.get("detail") or status))
    return said


@contextmanager
def rest_door(at: Session) -> Iterator[RestDoor]:
    """The door that the command line names, with its errors in our words."""
    found = door_at(at.profile.http or "", at.profile)
    door = RestDoor(found.url, found.token, found.timeout_s, user=found.user, tls=found.tls)
    with spoken_by(door):
        yield door


# -- writing


@frozen
class _Placed:
    partition: int
    offset: int


def send(door: RestDoor, topic: str, chunks: Iterator[list[NewRecord]], shown: Callable[[int], None]) -> Sent:
    """Write the records, as they come."""
    sent = Sent(topic)
    for chunk in chunks:
        for first in range(0, len(chunk), SENT_AT_ONCE):
            some = chunk[first : first + SENT_AT_ONCE]
            answer = door.rest("POST", ("topics", topic), {"records": [_written(each) for each in some]})
            for offset in answer["offsets"]:
                if offset.get("error_code") is not None:
                    raise Refused(f"{topic}: {offset['error']}; {sent.records} records before it were written")
                sent.add(_Placed(offset["partition"], offset["offset"]))
            shown(len(some))
    return sent


def _written(record: NewRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"value": _base64(record.value)}
    if record.key is not None:
        found["key"] = _base64(record.key)
    if record.headers:
        found["headers"] = [{"key": name, "value": _base64(value)} for name, value in record.headers]
    if record.partition is not None:
        found["partition"] = record.partition
    if record.timestamp_ms is not None:
        found["timestamp"] = record.timestamp_ms
    return found


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


# -- reading


@frozen
class HttpReading:
    """What is to be read. `begin` is earliest, latest or an offset; None is as the group stands."""

    topic: str
    write: Callable[[Record], None]
    chosen: Filter
    group: str | None = None
    partitions: Sequence[int] = ()
    begin: str | None = None
    max_bytes: int = 1 << 20
    count: int | None = None
    idle_s: float | None = None
    exit_at_end: bool = False
    commit_every_s: float | None = 5.0
    """How often the group's offsets are kept; None: never."""


@define(eq=False)
class HttpConsumer:
    """One consumer of REST v2, from its making to its end."""

    door: RestDoor
    wanted: HttpReading
    shown: int = 0
    _path: tuple[str, ...] = field(default=(), init=False)
    _done: dict[tuple[str, int], int] = field(factory=dict, init=False)
    """The last record of each partition that was done with and is not committed."""
    _committed_at: float = field(factory=time.monotonic, init=False)

    def run(self) -> None:
        """Read until there is enough, or somebody says so."""
        wanted = self.wanted
        group = wanted.group or f"tidegate-cli-{os.urandom(8).hex()}"
        reset = wanted.begin if wanted.begin in ("earliest", "latest") else "earliest"
        settings = {"format": "binary", "auto.offset.reset": reset, "auto.commit.enable": False}
        made = self.door.rest("POST", ("consumers", group), settings)
        self._path = ("consumers", group, "instances", made["instance_id"])
        try:
            self._choose()
            self._read()
            self._commit()
        finally:
            self.door.rest("DELETE", self._path)

    def _choose(self) -> None:
        wanted, topic = self.wanted, self.wanted.topic
        if wanted.group is not None:
            self._ask("POST", "subscription", {"topics": [topic]}, wait_s=GRACE_S)
            return
        count = self.door.read("topics", topic)["partitions"]["total"]
        chosen = list(wanted.partitions) or list(range(count))
        for partition in chosen:
            if partition >= count:
                raise UsageMistake(f"{topic}: no partition {partition}", f"it has 0 to {count - 1}")
        places = [{"topic": topic, "partition": partition} for partition in chosen]
        self._ask("POST", "assignments", {"partitions": places})
        if wanted.begin is not None and wanted.begin.isdecimal():
            self._ask("POST", "positions", {"offsets": [{**each, "offset": int(wanted.begin)} for each in places]})

    def _read(self) -> None:
        wanted = self.wanted
        silent_since = time.monotonic()
        while wanted.count is None or self.shown < wanted.count:
            query = f"?timeout={POLL_MS}&max_bytes={wanted.max_bytes}"
            found = self.door.rest("GET", (*self._path, "records"), query=query, wait_s=POLL_MS / 1000)
            now = time.monotonic()
            for record in map(_read, found):
                self._done[record.topic, record.partition] = record.offset
                if wanted.chosen.takes(record):
                    wanted.write(record)
                    self.shown += 1
                    if self.shown == wanted.count:
                        return
            if found:
                silent_since = now
            elif wanted.exit_at_end or (wanted.idle_s is not None and now >= silent_since + wanted.idle_s):
                return
            if wanted.commit_every_s is not None and now >= self._committed_at + wanted.commit_every_s:
                self._commit()

    def _commit(self) -> None:
        """What was done with, record by record: the rest of what came with the last one is still to be read."""
        wanted = self.wanted
        if wanted.group is None or wanted.commit_every_s is None or not self._done:
            return
        offsets = [
            {"topic": topic, "partition": partition, "offset": offset}
            for (topic, partition), offset in self._done.items()
        ]
        self._ask("POST", "offsets", {"offsets": offsets})
        self._done.clear()
        self._committed_at = time.monotonic()

    def _ask(self, method: str, what: str, body: Any = None, *, wait_s: float = 0.0) -> Any:
        return self.door.rest(method, (*self._path, what), body, wait_s=wait_s)


def _read(found: dict[str, Any]) -> Record:
    headers = tuple((each["key"], _bytes(each["value"])) for each in found["headers"])
    return Record(
        found["topic"],
        found["partition"],
        found["offset"],
        found["timestamp"],
        _bytes(found["key"]),
        _bytes(found["value"]),
        headers,
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
