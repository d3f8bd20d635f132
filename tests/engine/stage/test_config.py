"""What follows from a topic's extension keys."""

import pytest

from engine.stage.config import ExtensionConfig
from engine.stage.headers import HeaderRules


@pytest.mark.parametrize(("enable", "priority"), [("auto", True), ("true", True), ("false", False)])
def test_priority_is_plain_data_only_where_it_is_off(enable: str, priority: bool) -> None:
    config = ExtensionConfig(priority_enable=enable, delay_max_ms=7, cleanup_compact=True)
    assert config.header_rules == HeaderRules(7, priority=priority, compacted=True)


def test_dead_letters_go_to_a_topic_beside_this_one_or_to_the_one_that_is_named() -> None:
    assert ExtensionConfig().dead_letters_of("orders") == "orders.dlq"
    assert ExtensionConfig(dead_letter_topic="letters").dead_letters_of("orders") == "letters"
