"""What every catalogue promises: revisions, comparisons, watches, sessions. Each implementation runs all of it."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalogue.catalogue import (
    Catalogue,
    CatalogueConflict,
    Commit,
    Compare,
    Delete,
    Event,
    Lasting,
    Put,
    Watch,
)
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.sqlite import SqliteCatalogue
from tests.simulation.etcd import SimulatedEtcd
from tests.simulation.etcd_catalogue import SimulatedCatalogue
from tidegate.etcd import RunningEtcd


def _etcd(request: pytest.FixtureRequest, _directory: Path) -> Catalogue:
    running: RunningEtcd = request.getfixturevalue("etcd")
    opened: Callable[..., Catalogue] = request.getfixturevalue("opened")
    return opened(running.url)


IMPLEMENTATIONS: dict[str, Callable[[pytest.FixtureRequest, Path], Catalogue]] = {
    "memory": lambda _request, _directory: MemoryCatalogue(),
    "sqlite": lambda _request, directory: SqliteCatalogue.open(str(directory / "catalogue.sqlite")),
    "etcd": _etcd,
    # What the simulation's nodes have in etcd's place is held to the same.
    "model": lambda _request, _directory: SimulatedCatalogue(
        SimulatedEtcd(random.Random(1), time.monotonic), random.Random(1), lag=False
    ),
}


@pytest.fixture(params=["memory", "sqlite", "model", pytest.param("etcd", marks=pytest.mark.slow)])
def catalogue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalogue]:
    opened = IMPLEMENTATIONS[request.param](request, tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def start(catalogue: Catalogue) -> int:
    """The revision before the test changed anything; others may have written to the same etcd before."""
    return catalogue.revision()


def _all(watch: Watch, count: int) -> list[Event]:
    """So many events, which may come one after the other."""
    seen: list[Event] = []
    while len(seen) < count:
        events = watch.next(10)
        assert events, "no more events came"
        seen += events
    watch.close()
    return seen


def put(catalogue: Catalogue, key: str, value: bytes) -> int:
    return catalogue.commit(Commit(changes=(Put(key, value),)))


def test_a_new_catalogue_is_empty(catalogue: Catalogue, start: int) -> None:
    assert catalogue.entries("") == (start, [])
    assert catalogue.get("a") is None


def test_a_commit_raises_the_revision_by_one(catalogue: Catalogue, start: int) -> None:
    assert [put(catalogue, "a", b"1"), put(catalogue, "b", b"2")] == [start + 1, start + 2]
    assert catalogue.revision() == start + 2


def test_an_entry_remembers_the_revision_of_its_last_change(catalogue: Catalogue, start: int) -> None:
    put(catalogue, "a", b"1")
    put(catalogue, "b", b"2")
    put(catalogue, "a", b"3")
    entry = catalogue.get("a")
    assert entry is not None
    assert (entry.value, entry.revision) == (b"3", start + 3)


def test_entries_are_those_under_the_prefix_in_order(catalogue: Catalogue, start: int) -> None:
    for key in ("topics/b", "topics/a", "topic", "topics0", "nodes/1"):
        put(catalogue, key, b"")
    revision, entries = catalogue.entries("topics/")
    assert revision == start + 5
    assert [entry.key for entry in entries] == ["topics/a", "topics/b"]


def test_a_commit_changes_several_keys_at_one_revision(catalogue: Catalogue, start: int) -> None:
    put(catalogue, "gone", b"")
    assert catalogue.commit(Commit(changes=(Put("a", b"1"), Put("b", b"2"), Delete("gone")))) == start + 2
    _revision, entries = catalogue.entries("")
    assert [(entry.key, entry.revision) for entry in entries] == [("a", start + 2), ("b", start + 2)]


def test_a_comparison_that_holds_lets_the_transaction_through(catalogue: Catalogue) -> None:
    revision = put(catalogue, "a", b"1")
    compares = (Compare("a", revision), Compare("b", 0))
    assert catalogue.commit(Commit(compares, (Put("a", b"2"),))) == revision + 1


@pytest.mark.parametrize("compare", [Compare("a", 0), Compare("a", 9999), Compare("b", 1)])
def test_a_comparison_that_fails_refuses_the_whole_commit(catalogue: Catalogue, start: int, compare: Compare) -> None:
    put(catalogue, "a", b"1")
    with pytest.raises(CatalogueConflict, match=compare.key):
        catalogue.commit(Commit((compare,), (Put("a", b"2"), Put("c", b"3"))))
    assert catalogue.revision() == start + 1
    assert [entry.value for entry in catalogue.entries("")[1]] == [b"1"]


def test_of_two_that_planned_against_the_same_revision_one_wins(catalogue: Catalogue) -> None:
    known = put(catalogue, "counter", b"0")
    outcomes: list[object] = []

    def increment(value: bytes) -> None:
        try:
            outcomes.append(catalogue.commit(Commit((Compare("counter", known),), (Put("counter", value),))))
        except CatalogueConflict as conflict:
            outcomes.append(conflict)

    threads = [threading.Thread(target=increment, args=(bytes([n]),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(known + 1) == 1
    assert sum(isinstance(outcome, CatalogueConflict) for outcome in outcomes) == 7


def test_a_commit_without_changes_only_compares(catalogue: Catalogue, start: int) -> None:
    assert catalogue.commit(Commit((Compare("a", 0),))) == start
    with pytest.raises(CatalogueConflict):
        catalogue.commit(Commit((Compare("a", 7),)))


def test_a_key_made_again_has_a_new_revision(catalogue: Catalogue) -> None:
    first = put(catalogue, "a", b"1")
    catalogue.commit(Commit(changes=(Delete("a"),)))
    assert catalogue.get("a") is None
    with pytest.raises(CatalogueConflict):
        catalogue.commit(Commit((Compare("a", first),), (Put("a", b"2"),)))
    assert catalogue.commit(Commit((Compare("a", 0),), (Put("a", b"2"),))) == first + 2


def test_a_watch_tells_what_changed_since_a_revision(catalogue: Catalogue) -> None:
    first = put(catalogue, "a", b"1")
    put(catalogue, "a", b"2")
    catalogue.commit(Commit(changes=(Delete("a"),)))
    assert _all(catalogue.watch(first), 2) == [Event(first + 1, "a", b"2"), Event(first + 2, "a", None)]


def test_a_watch_tells_of_its_prefix_alone(catalogue: Catalogue, start: int) -> None:
    put(catalogue, "nodes/1", b"1")
    put(catalogue, "topics/a", b"2")
    assert _all(catalogue.watch(start, "topics/"), 1) == [Event(start + 2, "topics/a", b"2")]


def test_a_watch_waits_for_the_next_change(catalogue: Catalogue, start: int) -> None:
    watch = catalogue.watch(start)
    seen: list[Event] = []
    waiting = threading.Thread(target=lambda: seen.extend(watch.next(10)))
    waiting.start()
    put(catalogue, "a", b"1")
    waiting.join(10)
    watch.close()
    assert seen == [Event(start + 1, "a", b"1")]


def test_a_watch_tells_each_change_once(catalogue: Catalogue, start: int) -> None:
    watch = catalogue.watch(start)
    put(catalogue, "a", b"1")
    assert len(watch.next(1)) == 1
    catalogue.commit(Commit(changes=(Delete("was never there"),)))
    assert list(watch.next(0.1)) == []
    put(catalogue, "b", b"2")
    assert list(watch.next(1)) == [Event(start + 3, "b", b"2")]
    watch.close()


def _until_reached(watch: Watch, revision: int) -> list[Event]:
    """What the watch gives until it has come so far; it is told so when there is something to look at."""
    seen: list[Event] = []
    deadline = time.monotonic() + 10
    while watch.reached < revision:
        assert time.monotonic() < deadline, "the watch does not come so far"
        seen += watch.next(0.01)
    return seen


def test_a_watch_tells_how_far_it_has_come(catalogue: Catalogue, start: int) -> None:
    watch = catalogue.watch(start)
    assert watch.reached == start
    assert _until_reached(watch, put(catalogue, "a", b"1")) == [Event(start + 1, "a", b"1")]
    watch.close()


def test_a_commit_that_changes_nothing_visible_is_reached_too(catalogue: Catalogue, start: int) -> None:
    watch = catalogue.watch(start, "topics/")
    nothing = catalogue.commit(Commit(changes=(Delete("was never there"),)))
    assert _until_reached(watch, nothing) == []
    assert _until_reached(watch, put(catalogue, "nodes/1", b"1")) == []
    watch.close()


def test_what_was_not_yet_given_is_not_reached(catalogue: Catalogue, start: int) -> None:
    news = threading.Event()
    watch = catalogue.watch(start, on_news=news.set)
    watch.next(0)
    put(catalogue, "a", b"1")
    assert news.wait(10)
    assert watch.reached == start
    watch.close()


def test_whoever_watches_is_told_of_every_commit(catalogue: Catalogue, start: int) -> None:
    news = threading.Semaphore(0)
    watch = catalogue.watch(start, on_news=news.release)
    for value in (b"1", b"2"):
        revision = put(catalogue, "a", value)
        seen: list[Event] = []
        while not seen:
            assert news.acquire(timeout=10)
            seen += watch.next(0)
        assert seen == [Event(revision, "a", value)]
    watch.close()


def test_a_session_that_was_opened_is_there_and_opening_it_again_changes_nothing(catalogue: Catalogue) -> None:
    session = catalogue.session
    session.open()
    session.open()
    assert not session.is_lost
    assert session.silent_s() < session.duration_s


def test_what_is_ephemeral_goes_with_the_session_unless_that_lasts(catalogue: Catalogue, start: int) -> None:
    watch = catalogue.watch(start)
    catalogue.session.open()
    catalogue.commit(Commit(changes=(Put("nodes/1", b"", ephemeral=True), Put("topics/a", b""))))
    assert len(_until_reached(watch, start + 1)) == 2
    catalogue.session.close()
    left = [entry.key for entry in catalogue.entries("")[1]]
    if isinstance(catalogue.session, Lasting):
        assert left == ["nodes/1", "topics/a"]
    else:
        assert left == ["topics/a"]
        assert catalogue.session.is_lost
        assert _until_reached(watch, start + 2) == [Event(start + 2, "nodes/1", None)]
    watch.close()


def test_closing_a_watch_ends_the_waiting(catalogue: Catalogue, start: int) -> None:
    watch = catalogue.watch(start)
    waiting = threading.Thread(target=watch.next, args=(60,))
    waiting.start()
    watch.close()
    waiting.join(10)
    assert not waiting.is_alive()


def test_changing_a_key_twice_in_one_transaction_is_a_bug(catalogue: Catalogue) -> None:
    with pytest.raises(AssertionError):
        catalogue.commit(Commit(changes=(Put("a", b"1"), Delete("a"))))


def test_transactions_can_be_joined() -> None:
    first, second = Commit((Compare("a", 0),), (Put("a", b""),)), Commit((), (Delete("b"),))
    assert Commit.joined([first, second]) == Commit((Compare("a", 0),), (Put("a", b""), Delete("b")))
