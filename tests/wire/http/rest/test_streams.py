"""Objects one behind the other, however their bytes are cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.http.rest.streams import NotObjects, ObjectStream, TooLong

TEXTS = st.text(alphabet='ab"\\{}[],é ', max_size=12)
OBJECTS = st.lists(
    st.builds(lambda key, text, number: {key: [text, {"n": number}]}, TEXTS, TEXTS, st.integers()), max_size=6
)


@given(OBJECTS, st.sampled_from(["", " ", "\n", ","]), st.lists(st.integers(1, 30), max_size=30), st.booleans())
def test_objects_come_out_as_they_went_in(objects: list[Any], between: str, cuts: list[int], ascii_only: bool) -> None:
    data = between.join(json.dumps(each, ensure_ascii=ascii_only) for each in objects).encode()
    stream, found, position = ObjectStream(100_000), [], 0
    for cut in [*cuts, len(data)]:
        found += [json.loads(each) for each in stream.receive(data[position : position + cut])]
        position += cut
    assert found == objects
    assert stream.is_between


def test_an_array_of_objects_is_taken_apart() -> None:
    assert list(ObjectStream(100).receive(b'[{"a": 1},\n {"b": "}\\""}]\n')) == [b'{"a": 1}', b'{"b": "}\\""}']


def test_half_an_object_is_not_nothing() -> None:
    stream = ObjectStream(100)
    assert list(stream.receive(b'{"a": "\\')) == []
    assert not stream.is_between
    assert list(stream.receive(b'""}')) == [b'{"a": "\\""}']


def test_an_object_may_not_be_endless() -> None:
    with pytest.raises(TooLong):
        list(ObjectStream(100).receive(b'{"a": "' + b"x" * 100))


def test_anything_else_is_refused() -> None:
    with pytest.raises(NotObjects):
        list(ObjectStream(100).receive(b'{"a": 1} 2 {"b": 3}'))
