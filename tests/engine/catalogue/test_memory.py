"""The catalogue in memory keeps its whole history; the rest is in test_catalogue.py."""

from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.memory import MemoryCatalogue


def test_a_watch_may_begin_at_the_very_first_change() -> None:
    catalogue = MemoryCatalogue()
    for number in range(2_000):
        catalogue.commit(Commit(changes=(Put("a", str(number).encode()),)))
    assert len(catalogue.watch(0).next(0)) == 2_000
