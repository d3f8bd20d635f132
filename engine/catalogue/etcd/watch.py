"""Changes in etcd, read by a thread that waits for them on a connection of its own.

When the connection breaks, the next goes on where it ended, at any endpoint. A member of etcd that is stopped, or cut
off from the others, breaks nothing and says nothing: after some silence it is asked, and left if it does not answer.

How far the watch has come (`reached`): etcd gives whole revisions in order, but while a watch catches up, the revision
in the head of an answer is ahead of changes that are still to come. So with changes the last of them counts, and the
head only in an answer without any.
"""

import logging
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from attrs import define, field

from engine.catalogue.catalogue import CatalogueCompacted, Event, OnNews
from engine.catalogue.etcd.access import UNAUTHENTICATED
from engine.catalogue.etcd.gateway import EtcdRefusal, EtcdUnavailable, Exchange, Gateway, decoded, encoded, number
from engine.catalogue.etcd.session import Wait
from engine.errors import BrokerError, fresh

logger = logging.getLogger("tidegate.catalogue")

RANGE, WATCH = "/v3/kv/range", "/v3/watch"
ANSWER_S = 1.0
"""So long may an endpoint take to answer, and so long may a watch be silent before its endpoint is asked."""
LONGEST_PATIENCE_S = 16.0
FIRST_RETRY_S, LONGEST_RETRY_S = 0.05, 1.0


@define(eq=False)
class EtcdWatch:
    """See the module. Its thread ends with `close`, or when what follows is no longer kept."""

    _calls: Gateway
    _prefix: bytes
    """What is watched."""
    _wanted: bytes
    """What is told of it: keys that begin so, without their first `_stripped` bytes."""
    _stripped: int
    _read_revision: int
    """Everything up to it has been read."""
    _wait: Wait
    _on_news: OnNews | None = None
    _gateway: Gateway = field(init=False)
    _reached: int = field(init=False)
    _news: threading.Condition = field(factory=threading.Condition, init=False)
    _ready: deque[Event] = field(factory=deque, init=False)
    _trouble: BrokerError | None = field(default=None, init=False)
    _closed: threading.Event = field(factory=threading.Event, init=False)
    _exchange: Exchange | None = field(default=None, init=False)
    _patience_s: float = field(default=ANSWER_S, init=False)

    def __attrs_post_init__(self) -> None:
        self._gateway, self._reached = self._calls.another(ANSWER_S), self._read_revision
        threading.Thread(target=self._follow, name="etcd-watch", daemon=True).start()

    def next(self, timeout_s: float) -> Sequence[Event]:
        """`EtcdUnavailable` as long as nobody answers; nothing is lost by that."""
        with self._news:
            self._news.wait_for(lambda: self._ready or self._trouble or self.is_closed, timeout_s)
            if self.is_closed:
                return ()
            if self._trouble is not None and not self._ready:
                raise fresh(self._trouble)
            events = list(self._ready)
            self._ready.clear()
            self._reached = self._read_revision
            return events

    @property
    def reached(self) -> int:
        return self._reached

    @property
    def is_closed(self) -> bool:
        """Whether nothing comes any more."""
        return self._closed.is_set()

    def close(self) -> None:
        with self._news:
            self._closed.set()
            exchange = self._exchange
            self._news.notify_all()
        if exchange is not None:
            exchange.interrupt()

    # -- in the thread

    def _follow(self) -> None:
        delay_s = 0.0
        while not self.is_closed:
            self._wait(self._closed, delay_s)
            try:
                self._read_on()
            except CatalogueCompacted as error:
                self._fail(error)
                return
            except (EtcdUnavailable, EtcdRefusal) as error:
                self._fail(error)
                delay_s = min(max(2 * delay_s, FIRST_RETRY_S), LONGEST_RETRY_S)
            except (OSError, EOFError) as error:
                # That happens; only if nobody else answers it is anybody's concern.
                delay_s = FIRST_RETRY_S
                if not self.is_closed:
                    logger.info("the watch of the catalogue goes on elsewhere: %s", error or type(error).__name__)

    def _read_on(self) -> None:
        """From where it ended, until the connection does."""
        asked = {
            "key": encoded(self._prefix),
            "range_end": encoded(after(self._prefix)),
            "start_revision": str(self._read_revision + 1),
            "progress_notify": True,
        }
        exchange = self._gateway.open(WATCH, {"create_request": asked}, ANSWER_S)
        asking = self._gateway.only(exchange.endpoint, self._patience_s)
        try:
            with self._news:
                self._exchange = exchange
            for line in self._lines(exchange, asking):
                self._take(msgspec.json.decode(line))
        finally:
            self._gateway.pass_over(exchange.endpoint)
            with self._news:
                self._exchange = None
            exchange.close()
            asking.close()

    def _lines(self, exchange: Exchange, asking: Gateway) -> Iterator[bytes]:
        """One for each message; that of a watch which is far behind has many megabytes."""
        begun: list[bytes] = []
        while not self.is_closed:
            *ends, rest = self._piece(exchange, asking).split(b"\n")
            for end in ends:
                yield b"".join((*begun, end))
                begun.clear()
            begun.append(rest)

    def _piece(self, exchange: Exchange, asking: Gateway) -> bytes:
        while True:
            exchange.wait(self._patience_s)
            try:
                piece = exchange.piece()
            except TimeoutError:
                self._ask(asking)
                continue
            if piece is None:
                raise EOFError("the watch was ended")
            return piece

    def _ask(self, asking: Gateway) -> None:
        """Whether the endpoint lives: by a read that needs the majority of etcd's members."""
        try:
            asking.call(RANGE, {"key": encoded(self._prefix), "count_only": True})
        except EtcdUnavailable as error:
            # It may only be slow: whoever comes after it has longer, until something has come.
            self._patience_s = min(2 * self._patience_s, LONGEST_PATIENCE_S)
            raise EOFError(str(error)) from error

    def _take(self, message: Mapping[str, Any]) -> None:
        if "error" in message:
            raise EOFError(str(message["error"].get("message", message["error"])))
        result = message["result"]
        if result.get("canceled"):
            if number(result, "compact_revision"):
                raise CatalogueCompacted(f"changes after revision {self._read_revision} are no longer kept")
            reason = str(result.get("cancel_reason", "the watch was ended"))
            if self._exchange is not None:
                # A watch under a token that is outdated is refused as if its user might not watch.
                self._exchange.is_outdated(UNAUTHENTICATED if "permission denied" in reason else 0, reason)
            raise EOFError(reason)
        events = result.get("events", ())
        told = [self._event(each) for each in events if decoded(each["kv"]["key"]).startswith(self._wanted)]
        with self._news:
            self._trouble = None
            self._ready.extend(told)
            if events:
                self._patience_s = ANSWER_S
                self._read_revision = number(events[-1]["kv"], "mod_revision")
            elif not result.get("created"):
                self._read_revision = max(self._read_revision, number(result["header"], "revision"))
            self._news.notify_all()
        self._tell()

    def _event(self, change: Mapping[str, Any]) -> Event:
        row = change["kv"]
        value = None if change.get("type") == "DELETE" else decoded(row.get("value"))
        return Event(number(row, "mod_revision"), decoded(row["key"])[self._stripped :].decode(), value)

    def _fail(self, error: BrokerError) -> None:
        with self._news:
            self._trouble = error
            self._news.notify_all()
        self._tell()

    def _tell(self) -> None:
        if self._on_news is not None and not self.is_closed:
            self._on_news()


def after(prefix: bytes) -> bytes:
    """The end of the range of all keys that begin so."""
    return prefix[:-1] + bytes([prefix[-1] + 1])
