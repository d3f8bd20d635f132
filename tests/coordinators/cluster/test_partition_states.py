"""How partitions are, by their rows."""

from coordinators.cluster.partition_states import PartitionCounts, counted, counts_of
from coordinators.topic_view import Topic
from engine.catalogue.records import PartitionRecord
from engine.config.resolve import BrokerSettings
from tests.coordinators.cluster.members import TOPIC_ID
from tidegate.config_keys import BROKER_KEYS


def topic(*rows: PartitionRecord, min_insync: int = 2) -> Topic:
    config = BrokerSettings(keys=BROKER_KEYS).topic_config({"min.insync.replicas": str(min_insync)})
    return Topic("t", TOPIC_ID, rows, config)


ALL = {1, 2, 3}
WHOLE = PartitionRecord.on(1, 2, 3)
LACKS_ONE = PartitionRecord((1, 2, 3), (1, 3), 1)
LACKS_TWO = PartitionRecord((1, 2, 3), (3,), 3)
NOBODY = PartitionRecord((1, 2, 3), (2,), -1)
GROWS = PartitionRecord((1, 2), (1,), 1, adding=(2,))


def test_partitions_are_counted_by_what_they_lack() -> None:
    found = counts_of(topic(WHOLE, LACKS_ONE, LACKS_TWO, NOBODY), ALL)
    assert (found.partitions, found.under_replicated, found.leaderless) == (4, 3, 1)
    assert (found.under_min_isr, found.at_min_isr, found.not_preferred) == (2, 1, 1)


def test_a_node_that_has_gone_leads_nothing_though_its_rows_say_so() -> None:
    """As long as etcd takes no changes nobody can write that into them."""
    found = counts_of(topic(WHOLE, LACKS_ONE, LACKS_TWO), {2, 3})
    assert (found.leaderless, found.under_replicated, found.under_min_isr) == (2, 3, 2)
    assert (found.at_min_isr, found.not_preferred) == (1, 1)


def test_a_node_counts_what_it_leads() -> None:
    found = counts_of(topic(WHOLE, LACKS_ONE, LACKS_TWO, NOBODY), ALL, led_by=1)
    assert (found.partitions, found.under_replicated, found.under_min_isr) == (2, 1, 0)


def test_replicas_that_are_being_added_are_not_missed_yet() -> None:
    found = counts_of(topic(GROWS, min_insync=1), ALL)
    assert (found.reassigning, found.under_replicated, found.under_min_isr) == (1, 0, 0)


def test_no_more_is_asked_for_than_there_are_replicas() -> None:
    assert counts_of(topic(PartitionRecord.on(1)), ALL).under_min_isr == 0


def test_the_sum_of_topics_comes_last() -> None:
    *pauses, total = counted([topic(WHOLE), topic(NOBODY)], ALL)
    assert pauses == [None, None]
    assert isinstance(total, PartitionCounts)
    assert (total.partitions, total.leaderless) == (2, 1)
