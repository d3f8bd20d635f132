"""What follows from a topic's extension keys."""

import pytest

from engine.stage.config import ExtensionConfig
from engine.stage.headers import HeaderRules
from engine.stage.lanes import LaneRules


@pytest.mark.parametrize(("enable", "priority"), [("auto", True), ("true", True), ("false", False)])
def test_priority_is_plain_data_only_where_it_is_off(enable: str, priority: bool) -> None:
    config = ExtensionConfig(priority_enable=enable, delay_max_ms=7, cleanup_compact=True)
    assert config.header_rules == HeaderRules(7, priority=priority, compacted=True)


def test_lanes_take_turns_as_the_topic_says() -> None:
    assert ExtensionConfig().lane_rules == LaneRules(weights=(50, 25, 15, 7, 3), strict=False, starvation_ms=30_000)
    config = ExtensionConfig(priority_weights=(5, 4, 3, 2, 1), priority_policy="strict", priority_starvation_ms=9)
    assert config.lane_rules == LaneRules(weights=(5, 4, 3, 2, 1), strict=True, starvation_ms=9)


def test_dead_letters_go_to_a_topic_beside_this_one_or_to_the_one_that_is_named() -> None:
    assert ExtensionConfig().dead_letters_of("orders") == "orders.dlq"
    assert ExtensionConfig(dead_letter_topic="letters").dead_letters_of("orders") == "letters"
