"""A node's session in etcd: a lease, kept alive by a thread of its own with a connection of its own.

The thread first asks whether the node's loop lives: a process whose loop hangs serves nobody, and its lease must end.
An answer confirms the lease for as long as it lasts, counted from when the question was sent. Whether the lease has
ended is known only when etcd says so: no answer may as well mean that etcd is away, and leases with it.
"""

import logging
import math
import threading
from collections.abc import Callable

from attrs import define, field, frozen

from engine.catalogue.etcd.gateway import EtcdRefusal, EtcdUnavailable, Gateway, number

logger = logging.getLogger("tidegate.session")

GRANT, KEEP, REVOKE = "/v3/lease/grant", "/v3/lease/keepalive", "/v3/lease/revoke"
KEPT_PER_DURATION = 3
FAREWELL_S = 1.0

Wait = Callable[[threading.Event, float], object]
"""Waits until the event is set, but no longer than so many seconds."""


@frozen
class Lease:
    """As etcd granted it."""

    lease_id: int
    duration_s: float


@define(eq=False)
class EtcdSession:
    """See the module."""

    gateway: Gateway
    wanted_s: float
    """How long a silence ends it; etcd may grant more."""
    monotonic: Callable[[], float]
    is_alive: Callable[[], bool]
    """[thread] Whether the node's loop is."""
    wait: Wait = threading.Event.wait
    _lease: Lease | None = field(default=None, init=False)
    _confirmed_at: float = field(default=-math.inf, init=False)
    _ended: threading.Event = field(factory=threading.Event, init=False)
    _opening: threading.Lock = field(factory=threading.Lock, init=False)

    def open(self) -> None:
        with self._opening:
            if self._lease is not None:
                return
            sent_at = self.monotonic()
            answer = self.gateway.call(GRANT, {"TTL": str(math.ceil(self.wanted_s))})
            lease = Lease(number(answer, "ID"), float(number(answer, "TTL")))
            self._confirmed_at, self._lease, self._ended = sent_at, lease, threading.Event()
            keeper = threading.Thread(target=self._keep, args=(lease, self._ended), name="etcd-session", daemon=True)
            keeper.start()

    @property
    def is_lost(self) -> bool:
        return self._lease is None

    def silent_s(self) -> float:
        return self.monotonic() - self._confirmed_at

    @property
    def duration_s(self) -> float:
        lease = self._lease
        return self.wanted_s if lease is None else lease.duration_s

    def close(self) -> None:
        lease = self._lease
        if lease is not None:
            self._end()
            # Once: a node that stops does not wait for an etcd that is not there.
            farewell = self.gateway.another(FAREWELL_S)
            try:
                farewell.call(REVOKE, {"ID": str(lease.lease_id)})
            except (EtcdUnavailable, EtcdRefusal) as error:
                logger.warning("the node's session ends only with its time: %s", error)
            finally:
                farewell.close()

    def lease_id(self) -> int:
        """[thread] What ephemeral rows are put under. Raises if there is no session."""
        lease = self._lease
        if lease is None:
            raise EtcdRefusal("the node has no session in etcd")
        return lease.lease_id

    def lose(self, lease_id: int) -> None:
        """[thread] etcd does not know that lease."""
        lease = self._lease
        if lease is not None and lease.lease_id == lease_id:
            logger.error("etcd has ended the node's session", extra={"silent_s": round(self.silent_s(), 3)})
            self._end()

    def _end(self) -> None:
        self._lease = None
        self._ended.set()

    def _keep(self, lease: Lease, ended: threading.Event) -> None:
        """[thread] Until the lease ends."""
        interval_s = lease.duration_s / KEPT_PER_DURATION
        gateway = self.gateway.another(interval_s)
        try:
            while not ended.is_set():
                self.wait(ended, interval_s)
                if not ended.is_set() and self.is_alive():
                    self._confirm(lease, gateway)
        finally:
            gateway.close()

    def _confirm(self, lease: Lease, gateway: Gateway) -> None:
        sent_at = self.monotonic()
        try:
            answer = gateway.call(KEEP, {"ID": str(lease.lease_id)})
        except (EtcdUnavailable, EtcdRefusal) as error:
            logger.warning("the node's session is not confirmed: %s", error)
            return
        if "result" not in answer:
            # Such as an etcd that has no leader.
            logger.warning("the node's session is not confirmed: %s", answer.get("error"))
            gateway.close()
        elif not number(answer["result"], "TTL"):
            self.lose(lease.lease_id)
        elif self._lease is lease:
            self._confirmed_at = sent_at
