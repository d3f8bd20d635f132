"""Topic names are Kafka's."""

import pytest

from coordinators.topic_names import check_topic_name, collision_key
from engine.errors import InvalidTopic


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "x" * 249, "__consumer_offsets"])
def test_a_legal_name_is_taken(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "a/b", "é", "a\n", "a,b", "a\x00"])
def test_an_illegal_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidTopic, match="Topic name is invalid"):
        check_topic_name(name)


def test_names_that_differ_in_dots_and_underscores_collide() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c")
    assert collision_key("a-b") != collision_key("a_b")
