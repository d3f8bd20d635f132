"""A mapping with changes laid over it is what a changed copy would be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.group.consumer.overlay import Overlay

KEYS = st.integers(0, 5)


@given(
    st.dictionaries(KEYS, st.integers()),
    st.lists(st.tuples(st.booleans(), KEYS, st.integers())),
)
def test_it_is_what_a_changed_copy_would_be(beneath: dict[int, int], changes: list[tuple[bool, int, int]]) -> None:
    before = dict(beneath)
    overlay, copy = Overlay(beneath), dict(beneath)
    for is_set, key, value in changes:
        if is_set:
            overlay[key] = copy[key] = value
        else:
            assert overlay.pop(key, None) == copy.pop(key, None)
    assert dict(overlay) == copy
    assert len(overlay) == len(copy)
    assert [overlay.get(key) for key in range(6)] == [copy.get(key) for key in range(6)]
    assert beneath == before


def test_what_is_not_there_cannot_be_read_or_taken_out() -> None:
    overlay = Overlay({"a": 1})
    del overlay["a"]
    for call in (lambda: overlay["a"], lambda: overlay["b"], lambda: overlay.pop("a")):
        with pytest.raises(KeyError):
            call()


def test_it_tells_what_was_and_what_is() -> None:
    overlay = Overlay({"a": 1, "b": 2, "c": 3})
    overlay["a"], overlay["d"] = 10, 4
    del overlay["b"]
    assert set(overlay.changed()) == {(1, 10), (None, 4), (2, None)}
