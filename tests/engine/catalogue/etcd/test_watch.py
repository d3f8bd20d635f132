"""What a watch in etcd does when members stop, break or come back, and how far it says it has come."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalogue.catalogue import CatalogueCompacted, Commit, Event, Put
from engine.catalogue.etcd.catalogue import EtcdCatalogue
from engine.catalogue.etcd.gateway import EtcdUnavailable, encoded
from engine.catalogue.etcd.watch import EtcdWatch, after
from tidegate.etcd import EtcdMembers, RunningEtcd

Opened = Callable[..., EtcdCatalogue]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdMembers]:
    with EtcdMembers(tmp_path_factory.mktemp("etcd")) as members:
        yield members


def _put(key: str, value: bytes = b"") -> Commit:
    return Commit(changes=(Put(key, value),))


def _until_event(watch: EtcdWatch, timeout_s: float = 20.0) -> Event:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            events = watch.next(0.1)
        except EtcdUnavailable:
            time.sleep(0.05)
            continue
        if events:
            (event,) = events
            return event
    raise AssertionError("no event came")


def _wait_for_news(watch: EtcdWatch, news: threading.Event) -> None:
    """Look when told to and only then, until nothing is wrong."""
    while True:
        assert news.wait(10)
        news.clear()
        try:
            watch.next(0)
        except EtcdUnavailable:
            continue
        return


def test_the_end_of_a_range_is_after_all_that_begin_so() -> None:
    assert after(b"/a/") == b"/a0"


def test_one_that_catches_up_is_never_said_to_be_further_than_what_it_gave(etcd: RunningEtcd, opened: Opened) -> None:
    """etcd gives a thousand revisions at once to a watch that is behind, and heads each answer with its newest."""
    catalogue = opened(etcd.url)
    start = catalogue.revision()
    count = 2_500
    place = encoded(f"{catalogue.prefix}/entries/a".encode())
    for _ in range(count):
        catalogue.gateway.call("/v3/kv/put", {"key": place})
    watch = catalogue.watch(start)
    seen = 0
    while seen < count:
        events = watch.next(10)
        assert events
        seen += len(events)
        assert watch.reached == events[-1].revision == start + seen
    watch.close()


def test_megabytes_that_were_missed_come_soon(etcd: RunningEtcd, opened: Opened) -> None:
    catalogue = opened(etcd.url)
    start = catalogue.revision()
    for part in range(40):
        rows = tuple(Put(f"partitions/{part}/{number}", bytes(2_000)) for number in range(100))
        catalogue.commit(Commit(changes=rows))
    watch = catalogue.watch(start)
    seen, deadline = 0, time.monotonic() + 20
    while seen < 4_000:
        assert time.monotonic() < deadline
        seen += len(watch.next(1))
    watch.close()


def test_it_tells_again_when_etcd_is_back(tmp_path: Path, opened: Opened) -> None:
    with RunningEtcd(tmp_path / "another") as another:
        catalogue = opened(another.url)
        start = catalogue.commit(_put("a"))
        news = threading.Event()
        watch = catalogue.watch(start, on_news=news.set)
        another.kill()
        with pytest.raises(EtcdUnavailable):
            watch.next(10)
        assert watch.reached == start
        another.start()
        _wait_for_news(watch, news)
        revision = catalogue.commit(_put("b", b"2"))
        assert _until_event(watch) == Event(revision, "b", b"2")
        assert watch.reached == revision


def test_what_was_compacted_while_it_was_away_is_said(etcd: RunningEtcd, opened: Opened) -> None:
    may_return = threading.Event()

    def wait(_closed: threading.Event, timeout_s: float) -> None:
        if timeout_s:
            may_return.wait(10)

    catalogue = opened(etcd.url, wait=wait)
    watch = catalogue.watch(catalogue.commit(_put("a")))
    catalogue.commit(_put("b"))
    assert _until_event(watch).key == "b"
    exchange = watch._exchange
    assert exchange is not None
    exchange.interrupt()
    last = [catalogue.commit(_put("a", bytes([n]))) for n in range(3)][-1]
    catalogue.gateway.call("/v3/kv/compaction", {"revision": str(last), "physical": True})
    may_return.set()
    with pytest.raises(CatalogueCompacted):
        watch.next(10)


def test_closing_ends_its_thread(etcd: RunningEtcd, opened: Opened) -> None:
    before = set(threading.enumerate())
    catalogue = opened(etcd.url)
    watch = catalogue.watch(catalogue.revision())
    (thread,) = set(threading.enumerate()) - before
    watch.close()
    thread.join(10)
    assert not thread.is_alive()
    assert list(watch.next(0)) == []


def test_a_member_that_stands_still_is_left_for_another(three: EtcdMembers, opened: Opened) -> None:
    catalogue = opened(*(member.url for member in three.members), timeout_s=1.0)
    start = catalogue.commit(_put("a"))
    watch = catalogue.watch(start)
    catalogue.commit(_put("b"))
    assert _until_event(watch).key == "b"
    exchange = watch._exchange
    assert exchange is not None
    (watched,) = [member for member in three.members if member.url == str(exchange.endpoint)]
    watched.signal(signal.SIGSTOP)
    try:
        revision = _commit_some_time(catalogue, _put("c"))
        event = _until_event(watch)
        assert (event.key, event.revision) == ("c", revision)
    finally:
        watched.signal(signal.SIGCONT)


def test_everything_goes_on_when_the_leader_of_etcd_is_killed(three: EtcdMembers, opened: Opened) -> None:
    urls = [member.url for member in three.members]
    catalogue, other = opened(*urls, timeout_s=1.0), opened(*reversed(urls), timeout_s=1.0)
    node = Commit(changes=(Put("nodes/1", b"", ephemeral=True),))
    catalogue.session.open()
    start = catalogue.commit(node)
    watch = other.watch(start)
    leader = three.leader()
    leader.kill()
    try:
        revision = _commit_some_time(catalogue, _put("a", b"1"))
        assert _until_event(watch) == Event(revision, "a", b"1")
        # etcd begins every session anew with a new leader, and the node has kept its own.
        time.sleep(2 * catalogue.session.duration_s)
        assert not catalogue.session.is_lost
        assert catalogue.session.silent_s() < catalogue.session.duration_s
        assert other.get("nodes/1") is not None
    finally:
        leader.start()


def _commit_some_time(catalogue: EtcdCatalogue, commit: Commit) -> int:
    """etcd may be without a leader for a second."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return catalogue.commit(commit)
        except EtcdUnavailable:
            assert time.monotonic() < deadline
