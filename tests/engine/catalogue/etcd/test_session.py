"""A node's session: who keeps it, when it is certain to have ended, and what goes with it."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.etcd.catalogue import EtcdCatalogue
from engine.catalogue.etcd.gateway import EtcdRefusal, EtcdUnavailable, Gateway
from engine.catalogue.etcd.session import GRANT, KEEP, REVOKE, EtcdSession
from engine.clock import ManualClock
from tidegate.etcd import RunningEtcd

Opened = Callable[..., EtcdCatalogue]
NODE = Commit(changes=(Put("nodes/1", b"", ephemeral=True),))


@define(eq=False)
class Scripted(Gateway):
    """An etcd that answers what a test says, to all gateways that come of it."""

    clock: ManualClock = field(factory=ManualClock)
    keep: Callable[[], dict[str, Any]] = lambda: {"result": {"TTL": "3"}}
    asked: list[str] = field(factory=list)

    def another(self, timeout_s: float) -> "Scripted":
        assert timeout_s == 1.0, "a third of what was granted"
        return self

    def call(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(path)
        self.clock.advance_ms(100)
        if path == GRANT:
            assert message == {"TTL": "2"}
            return {"ID": "7", "TTL": "3"}
        assert message == {"ID": "7"}
        return self.keep() if path == KEEP else {}


class Turns:
    """Has the keeper wait until the test says that the time has come, and the test until the keeper waits again."""

    def __init__(self) -> None:
        self._waits = threading.Semaphore(0)
        self._goes = threading.Semaphore(0)
        self.waited_s: list[float] = []

    def wait(self, ended: threading.Event, timeout_s: float) -> None:
        self.waited_s.append(timeout_s)
        self._waits.release()
        while not ended.is_set() and not self._goes.acquire(timeout=0.01):
            pass

    def pass_one(self) -> None:
        assert self._waits.acquire(timeout=10)
        self._goes.release()
        assert self._waits.acquire(timeout=10)
        self._waits.release()


def _session(etcd: Scripted, turns: Turns, is_alive: Callable[[], bool] = lambda: True) -> EtcdSession:
    return EtcdSession(etcd, 1.5, etcd.clock.monotonic, is_alive, turns.wait)


def test_one_that_was_never_opened_is_lost_and_puts_nothing() -> None:
    session = _session(Scripted([]), Turns())
    assert session.is_lost
    assert session.silent_s() == float("inf")
    assert session.duration_s == 1.5
    with pytest.raises(EtcdRefusal, match="no session"):
        session.lease_id()


def test_it_lasts_as_long_as_etcd_granted_and_is_confirmed_three_times_meanwhile() -> None:
    etcd, turns = Scripted([]), Turns()
    session = _session(etcd, turns)
    session.open()
    assert session.duration_s == 3.0
    turns.pass_one()
    assert etcd.asked == [GRANT, KEEP]
    assert turns.waited_s == [1.0, 1.0]
    session.close()
    assert etcd.asked[-1] == REVOKE
    assert session.is_lost


def test_a_confirmation_counts_from_when_it_was_asked_for() -> None:
    etcd, turns = Scripted([]), Turns()
    session = _session(etcd, turns)
    session.open()
    assert session.silent_s() == pytest.approx(0.1)
    etcd.clock.advance_ms(1_000)
    turns.pass_one()
    assert session.silent_s() == pytest.approx(0.1), "the answer has taken so long"
    session.close()


def test_a_loop_that_does_not_live_is_not_kept() -> None:
    etcd, turns = Scripted([]), Turns()
    session = _session(etcd, turns, is_alive=lambda: False)
    session.open()
    turns.pass_one()
    assert KEEP not in etcd.asked
    session.close()


def _unavailable() -> dict[str, Any]:
    raise EtcdUnavailable("nobody answers")


@pytest.mark.parametrize("keep", [_unavailable, lambda: {"error": {"message": "no leader"}}])
def test_a_question_without_an_answer_proves_nothing(keep: Callable[[], dict[str, Any]]) -> None:
    etcd, turns = Scripted([], keep=keep), Turns()
    session = _session(etcd, turns)
    session.open()
    etcd.clock.advance_ms(5_000)
    turns.pass_one()
    assert not session.is_lost
    assert session.silent_s() > session.duration_s
    session.close()


def test_a_lease_that_etcd_does_not_know_is_lost_and_a_new_one_can_be_had() -> None:
    etcd, turns = Scripted([], keep=lambda: {"result": {}}), Turns()
    session = _session(etcd, turns)
    session.open()
    assert turns._waits.acquire(timeout=10)
    turns._goes.release()
    _until(lambda: session.is_lost)
    session.open()
    assert not session.is_lost
    session.close()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_what_is_ephemeral_stays_while_the_loop_lives_and_goes_after(etcd: RunningEtcd, opened: Opened) -> None:
    lives = True
    node, other = opened(etcd.url, is_alive=lambda: lives), opened(etcd.url)
    node.session.open()
    node.commit(NODE)
    # Longer than the session lasts by itself.
    time.sleep(2 * node.session.duration_s)
    assert other.get("nodes/1") is not None
    lives = False
    _until(lambda: other.get("nodes/1") is None)
    assert not node.session.is_lost, "nobody has told it"
    assert node.session.silent_s() > node.session.duration_s
    lives = True
    _until(lambda: node.session.is_lost)
    node.session.open()
    node.commit(NODE)
    assert other.get("nodes/1") is not None


@pytest.mark.slow
def test_who_commits_under_a_lease_that_has_ended_learns_so(etcd: RunningEtcd, opened: Opened) -> None:
    node = opened(etcd.url, is_alive=lambda: False)
    node.session.open()
    node.gateway.call(REVOKE, {"ID": str(node.session.lease_id())})
    with pytest.raises(EtcdRefusal, match="lease not found"):
        node.commit(NODE)
    assert node.session.is_lost
    node.session.open()
    node.commit(NODE)


@pytest.mark.slow
def test_it_outlives_an_etcd_that_is_restarted(tmp_path: Path, opened: Opened) -> None:
    with RunningEtcd(tmp_path / "another") as another:
        node = opened(another.url)
        node.session.open()
        node.commit(NODE)
        another.kill()
        _until(lambda: node.session.silent_s() > node.session.duration_s)
        assert not node.session.is_lost, "etcd has not said so"
        another.start()
        _until(lambda: node.session.silent_s() < node.session.duration_s)
        assert not node.session.is_lost
        assert node.get("nodes/1") is not None
        another.kill()
        began = time.monotonic()
        node.close()
        assert time.monotonic() - began < 5, "a node that stops does not wait for etcd"
        another.start()
