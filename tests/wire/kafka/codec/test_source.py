"""Text under construction that knows which field each of its lines belongs to."""

import pytest

from wire.kafka.codec.source import Source


def raising() -> Source:
    source = Source("<test>")
    with source.block("def fail(number):"), source.at("topics"), source.at("name"):
        source.add("return 1 // number")
    return source


def test_an_error_is_found_at_its_field() -> None:
    source = raising()
    fail = source.compile("fail")
    assert fail(1) == 1
    with pytest.raises(ZeroDivisionError) as caught:
        fail(0)
    assert source.path_of(caught.value.__traceback__) == "topics.name"


def test_an_error_from_elsewhere_has_no_field() -> None:
    assert raising().path_of(None) == ""


def test_a_constant_keeps_one_name_and_another_value_gets_another() -> None:
    source = Source("<test>")
    first, second = object(), object()
    assert source.constant("value", first) == source.constant("value", first) == "value"
    assert source.constant("value", second) != "value"
