"""Pages of a list."""

from wire.http.messages import PageQuery


def test_a_page_is_cut_out_of_the_list() -> None:
    assert PageQuery(limit=2, skip=1).of("abcd") == "bc"


def test_beyond_the_end_there_is_nothing() -> None:
    assert PageQuery(limit=2, skip=9).of("abcd") == ""
    assert PageQuery(limit=9, skip=3).of("abcd") == "d"
