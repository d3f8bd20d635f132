"""What only an etcd can do to a catalogue: cut a connection, forget history, refuse, go away and come back."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.catalogue.catalogue import (
    CatalogueCompacted,
    CatalogueConflict,
    Commit,
    Compare,
    Delete,
    Event,
    Put,
)
from engine.catalogue.etcd import catalogue as etcd_catalogue
from engine.catalogue.etcd.catalogue import EtcdCatalogue
from engine.catalogue.etcd.gateway import EtcdEndpoint, EtcdRefusal, EtcdUnavailable
from engine.catalogue.etcd.watch import EtcdWatch
from tidegate.etcd import RunningEtcd

Opened = Callable[..., EtcdCatalogue]
pytestmark = pytest.mark.slow


class Cut:
    """A way to an etcd that can lose what comes back, or everything."""

    def __init__(self, target: str) -> None:
        self._target = EtcdEndpoint.parse(target)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.loses_answers = 0
        self.is_down = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection((self._target.host, self._target.port)) as server:
            while not self.is_down and (request := client.recv(1 << 20)):
                server.sendall(request)
                answer = server.recv(1 << 20)
                if self.loses_answers:
                    self.loses_answers -= 1
                    return
                client.sendall(answer)


@pytest.fixture
def cut(etcd: RunningEtcd) -> Iterator[Cut]:
    between = Cut(etcd.url)
    yield between
    between.close()


def put(key: str, value: bytes = b"", revision: int | None = None) -> Commit:
    compares = () if revision is None else (Compare(key, revision),)
    return Commit(compares, (Put(key, value),))


def test_a_commit_whose_answer_was_lost_happened_once(etcd: RunningEtcd, cut: Cut, opened: Opened) -> None:
    catalogue = opened(cut.url, etcd.url)
    catalogue.commit(put("a", b"1"))
    cut.loses_answers = 1
    revision = catalogue.commit(put("b", b"2", revision=0))
    entry = catalogue.get("b")
    assert entry is not None
    assert entry.revision == revision
    assert catalogue.commit(put("b", b"3", revision=revision)) == revision + 1


def test_an_outcome_that_nobody_tells_is_unknown_and_the_next_commit_goes_on(
    etcd: RunningEtcd, cut: Cut, opened: Opened
) -> None:
    catalogue = opened(cut.url)
    catalogue.commit(put("a", b"1"))
    cut.loses_answers = 9
    with pytest.raises(EtcdUnavailable, match="no etcd answers"):
        catalogue.commit(put("a", b"2"))
    cut.loses_answers = 0
    entry = opened(etcd.url).get("a")
    assert entry is not None
    assert entry.value == b"2"
    catalogue.commit(put("a", b"3", revision=entry.revision))


def test_two_nodes_see_each_others_commits(etcd: RunningEtcd, opened: Opened) -> None:
    one, other = opened(etcd.url), opened(etcd.url)
    revision = one.commit(put("a", b"1", revision=0))
    with pytest.raises(CatalogueConflict, match="a was changed meanwhile"):
        other.commit(put("a", b"2", revision=0))
    assert other.commit(put("a", b"2", revision=revision)) > revision


def test_a_commit_of_many_changes_is_done_in_parts(
    etcd: RunningEtcd, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = opened(etcd.url)
    start = catalogue.revision()
    rows = tuple(Put(f"partitions/{number}", b"") for number in range(300))
    catalogue.commit(Commit((Compare("topics/t", 0),), (Put("topics/t", b"made"), *rows)))
    assert len(catalogue.entries("")[1]) == 301
    order = _keys(catalogue.watch(start), 301)
    assert order[-1] == "topics/t", "the topic is there once all its partitions are"
    monkeypatch.setattr(etcd_catalogue, "PAGE", 100)
    assert len(catalogue.entries("partitions/")[1]) == 300
    known = catalogue.entries("topics/t")[1][0].revision
    gone = tuple(Delete(row.key) for row in rows)
    start = catalogue.revision()
    catalogue.commit(Commit((Compare("topics/t", known),), (Delete("topics/t"), Put("deleting/t", b""), *gone)))
    assert _keys(catalogue.watch(start), 302)[:2] == ["topics/t", "deleting/t"]


def test_a_large_commit_that_was_planned_against_something_old_changes_nothing(
    etcd: RunningEtcd, opened: Opened
) -> None:
    catalogue = opened(etcd.url)
    rows = tuple(Put(f"partitions/{number}", b"") for number in range(300))
    with pytest.raises(CatalogueConflict, match="topics/t"):
        catalogue.commit(Commit((Compare("topics/t", 7),), (Put("topics/t", b""), *rows)))
    assert catalogue.entries("")[1] == []


def test_a_watch_of_what_was_compacted_says_so(etcd: RunningEtcd, opened: Opened) -> None:
    catalogue = opened(etcd.url)
    first = catalogue.commit(put("a", b"1"))
    last = catalogue.commit(put("a", b"2"))
    catalogue.gateway.call("/v3/kv/compaction", {"revision": str(last), "physical": True})
    watch = catalogue.watch(first - 1)
    with pytest.raises(CatalogueCompacted):
        watch.next(10)
    watch.close()


def test_a_watch_and_commits_go_on_when_etcd_comes_back(tmp_path: Path, opened: Opened) -> None:
    with RunningEtcd(tmp_path / "another") as another:
        catalogue = opened(another.url)
        revision = catalogue.commit(put("a", b"1"))
        watch = catalogue.watch(revision)
        assert list(watch.next(0.01)) == []
        another.kill()
        with pytest.raises(EtcdUnavailable):
            watch.next(10)
        with pytest.raises(EtcdUnavailable):
            catalogue.commit(put("a", b"lost"))
        another.start()
        following = catalogue.commit(put("a", b"2", revision=revision))
        assert _events(watch, 1) == [Event(following, "a", b"2")]


def test_a_database_that_is_full_is_a_refusal(tmp_path: Path, opened: Opened) -> None:
    with RunningEtcd(tmp_path / "another") as another:
        catalogue = opened(another.url)
        catalogue.session.open()
        watch = catalogue.watch(catalogue.commit(Commit(changes=(Put("a", b"1", ephemeral=True),))))
        member = catalogue.gateway.call("/v3/maintenance/status", {})["header"]["member_id"]
        alarm = {"action": "ACTIVATE", "memberID": member, "alarm": "NOSPACE"}
        catalogue.gateway.call("/v3/maintenance/alarm", alarm)
        with pytest.raises(EtcdRefusal, match="space exceeded"):
            catalogue.commit(put("a", b"2"))
        # Longer than the session lasts by itself.
        time.sleep(2 * catalogue.session.duration_s)
        assert not catalogue.session.is_lost
        assert catalogue.get("a") is not None, "what is there stays, and so do the nodes"
        catalogue.gateway.call("/v3/maintenance/alarm", {**alarm, "action": "DEACTIVATE"})
        revision = catalogue.commit(put("a", b"3"))
        assert _events(watch, 1) == [Event(revision, "a", b"3")]


def _events(watch: EtcdWatch, count: int) -> list[Event]:
    seen: list[Event] = []
    while len(seen) < count:
        with _reconnecting():
            seen += watch.next(10)
    watch.close()
    return seen


@contextmanager
def _reconnecting() -> Iterator[None]:
    try:
        yield
    except EtcdUnavailable:
        return


def _keys(watch: EtcdWatch, count: int) -> list[str]:
    return [event.key for event in _events(watch, count)]
