"""What every catalogue promises: revisions, comparisons, watches. Each implementation runs all of it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Delete, Event, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.sqlite import SqliteCatalogue

IMPLEMENTATIONS: dict[str, Callable[[Path], Catalogue]] = {
    "memory": lambda _directory: MemoryCatalogue(),
    "sqlite": lambda directory: SqliteCatalogue.open(str(directory / "catalogue.sqlite")),
}


@pytest.fixture(params=IMPLEMENTATIONS)
def catalogue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalogue]:
    opened = IMPLEMENTATIONS[request.param](tmp_path)
    yield opened
    opened.close()


def put(catalogue: Catalogue, key: str, value: bytes) -> int:
    return catalogue.commit(Commit(changes=(Put(key, value),)))


def test_a_new_catalogue_is_empty_at_revision_zero(catalogue: Catalogue) -> None:
    assert catalogue.revision() == 0
    assert catalogue.entries("") == (0, [])
    assert catalogue.get("a") is None


def test_a_commit_raises_the_revision_by_one(catalogue: Catalogue) -> None:
    assert [put(catalogue, "a", b"1"), put(catalogue, "b", b"2")] == [1, 2]
    assert catalogue.revision() == 2


def test_an_entry_remembers_the_revision_of_its_last_change(catalogue: Catalogue) -> None:
    put(catalogue, "a", b"1")
    put(catalogue, "b", b"2")
    put(catalogue, "a", b"3")
    entry = catalogue.get("a")
    assert entry is not None
    assert (entry.value, entry.revision) == (b"3", 3)


def test_entries_are_those_under_the_prefix_in_order(catalogue: Catalogue) -> None:
    for key in ("topics/b", "topics/a", "topic", "topics0", "nodes/1"):
        put(catalogue, key, b"")
    revision, entries = catalogue.entries("topics/")
    assert revision == 5
    assert [entry.key for entry in entries] == ["topics/a", "topics/b"]


def test_a_transaction_changes_several_keys_at_one_revision(catalogue: Catalogue) -> None:
    put(catalogue, "gone", b"")
    assert catalogue.commit(Commit(changes=(Put("a", b"1"), Put("b", b"2"), Delete("gone")))) == 2
    _revision, entries = catalogue.entries("")
    assert [(entry.key, entry.revision) for entry in entries] == [("a", 2), ("b", 2)]


def test_a_comparison_that_holds_lets_the_transaction_through(catalogue: Catalogue) -> None:
    revision = put(catalogue, "a", b"1")
    compares = (Compare("a", revision), Compare("b", 0))
    assert catalogue.commit(Commit(compares, (Put("a", b"2"),))) == revision + 1


@pytest.mark.parametrize("compare", [Compare("a", 0), Compare("a", 99), Compare("b", 1)])
def test_a_comparison_that_fails_refuses_the_whole_transaction(catalogue: Catalogue, compare: Compare) -> None:
    put(catalogue, "a", b"1")
    with pytest.raises(CatalogueConflict, match=compare.key):
        catalogue.commit(Commit((compare,), (Put("a", b"2"), Put("c", b"3"))))
    assert catalogue.revision() == 1
    assert [entry.value for entry in catalogue.entries("")[1]] == [b"1"]


def test_of_two_that_planned_against_the_same_revision_one_wins(catalogue: Catalogue) -> None:
    put(catalogue, "counter", b"0")
    outcomes: list[object] = []

    def increment(value: bytes) -> None:
        try:
            outcomes.append(catalogue.commit(Commit((Compare("counter", 1),), (Put("counter", value),))))
        except CatalogueConflict as conflict:
            outcomes.append(conflict)

    threads = [threading.Thread(target=increment, args=(bytes([n]),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(2) == 1
    assert sum(isinstance(outcome, CatalogueConflict) for outcome in outcomes) == 7


def test_a_transaction_without_changes_only_compares(catalogue: Catalogue) -> None:
    assert catalogue.commit(Commit((Compare("a", 0),))) == 0
    with pytest.raises(CatalogueConflict):
        catalogue.commit(Commit((Compare("a", 7),)))


def test_a_key_made_again_has_a_new_revision(catalogue: Catalogue) -> None:
    put(catalogue, "a", b"1")
    catalogue.commit(Commit(changes=(Delete("a"),)))
    assert catalogue.get("a") is None
    with pytest.raises(CatalogueConflict):
        catalogue.commit(Commit((Compare("a", 1),), (Put("a", b"2"),)))
    assert catalogue.commit(Commit((Compare("a", 0),), (Put("a", b"2"),))) == 3


def test_a_watch_tells_what_changed_since_a_revision(catalogue: Catalogue) -> None:
    put(catalogue, "a", b"1")
    put(catalogue, "a", b"2")
    catalogue.commit(Commit(changes=(Delete("a"),)))
    assert list(catalogue.watch(1).next(1)) == [Event(2, "a", b"2"), Event(3, "a", None)]


def test_a_watch_tells_of_its_prefix_alone(catalogue: Catalogue) -> None:
    put(catalogue, "nodes/1", b"1")
    put(catalogue, "topics/a", b"2")
    assert list(catalogue.watch(0, "topics/").next(1)) == [Event(2, "topics/a", b"2")]


def test_a_watch_waits_for_the_next_change(catalogue: Catalogue) -> None:
    watch = catalogue.watch(0)
    seen: list[Event] = []
    waiting = threading.Thread(target=lambda: seen.extend(watch.next(10)))
    waiting.start()
    put(catalogue, "a", b"1")
    waiting.join(10)
    assert seen == [Event(1, "a", b"1")]


def test_a_watch_tells_each_change_once(catalogue: Catalogue) -> None:
    watch = catalogue.watch(0)
    put(catalogue, "a", b"1")
    assert len(watch.next(1)) == 1
    catalogue.commit(Commit(changes=(Delete("was never there"),)))
    assert list(watch.next(1)) == []
    put(catalogue, "b", b"2")
    assert list(watch.next(1)) == [Event(3, "b", b"2")]


def test_closing_a_watch_ends_the_waiting(catalogue: Catalogue) -> None:
    watch = catalogue.watch(0)
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
    assert first.and_then(second) == Commit((Compare("a", 0),), (Put("a", b""), Delete("b")))
