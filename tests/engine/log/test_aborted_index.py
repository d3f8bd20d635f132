"""The aborted transactions of a segment."""

from engine.log.aborted_index import AbortedIndex, AbortedTransaction

EARLY = AbortedTransaction(7, 10, 20, 21)
LATE = AbortedTransaction(8, 15, 40, 41)


def index() -> AbortedIndex:
    made = AbortedIndex()
    made.add(EARLY)
    made.add(LATE)
    return made


def collected(from_offset: int, upto_offset: int) -> tuple[list[AbortedTransaction], bool]:
    found: list[AbortedTransaction] = []
    finished = index().collect(from_offset, upto_offset, found)
    return found, finished


def test_it_is_the_same_read_back() -> None:
    assert list(AbortedIndex(bytes(index().content))) == [EARLY, LATE]
    assert len(index()) == 2


def test_a_transaction_is_found_where_it_reaches_into_what_is_read() -> None:
    assert collected(0, 10) == ([], True)
    assert collected(0, 11)[0] == [EARLY]
    assert collected(20, 41)[0] == [EARLY, LATE]
    assert collected(21, 41)[0] == [LATE]
    assert collected(41, 50) == ([], False)


def test_the_search_ends_where_everything_was_decided() -> None:
    assert collected(10, 21) == ([EARLY], True)
    assert collected(10, 22) == ([EARLY, LATE], True)
    assert collected(10, 42) == ([EARLY, LATE], False)
