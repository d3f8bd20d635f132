"""Dead letters that could never be written are refused with the config that would send them, whichever side it is."""

import pytest

from coordinators.configs import AlterOperation, ConfigAlteration, ConfigResource, ResourceType
from coordinators.topic_creation import TopicSpec
from engine.errors import BrokerError, InvalidConfig, InvalidRequest, InvalidTopic
from tests.coordinators.conftest import Desk

ALL_NODES = ConfigResource(ResourceType.BROKER, "")
DLQ: dict[str, str | None] = {"expiry.policy": "dlq"}
COMPACT: dict[str, str | None] = {"cleanup.policy": "compact"}


def alter(desk: Desk, name: str, **configs: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, name) if name else ALL_NODES
    set_ = [ConfigAlteration(k.replace("_", "."), AlterOperation.SET, value) for k, value in configs.items()]
    desk.run(desk.topics.plan_alter_configs([(resource, set_)]))


def test_a_name_that_would_be_too_long_is_refused_until_another_is_named(desk: Desk) -> None:
    long = "t" * 246
    with pytest.raises(InvalidConfig, match="250 characters"):
        desk.create(long, 1, DLQ)
    desk.create(long)
    with pytest.raises(InvalidConfig, match=r"dead\.letter\.topic"):
        alter(desk, long, expiry_policy="dlq")
    alter(desk, long, expiry_policy="dlq", dead_letter_topic="short")
    desk.create("t" * 245, 1, DLQ)


@pytest.mark.parametrize("policy", ["drop", "dlq"])
@pytest.mark.parametrize(("name", "reason"), [("t", "its own"), ("__consumer_offsets", "the broker's own")])
def test_a_topic_that_cannot_take_letters_is_refused(desk: Desk, policy: str, name: str, reason: str) -> None:
    desk.create("t", 1, {"expiry.policy": policy})
    with pytest.raises(InvalidConfig, match=reason):
        alter(desk, "t", dead_letter_topic=name)


def test_a_name_that_collides_is_refused(desk: Desk) -> None:
    desk.create("a_b.dlq")
    with pytest.raises(InvalidConfig, match=r"'a\.b\.dlq'.*'a_b\.dlq'"):
        desk.create("a.b", 1, DLQ)
    desk.create("a.b")
    with pytest.raises(InvalidConfig, match=r"'a\.b\.dlq'.*'a_b\.dlq'"):
        alter(desk, "a.b", expiry_policy="dlq")
    with pytest.raises(InvalidConfig, match="collides"):
        alter(desk, "a.b", dead_letter_topic="a_b_dlq")


def test_a_topic_that_would_take_the_place_of_a_dead_letter_topic_is_refused(desk: Desk) -> None:
    desk.create("a.b", 1, DLQ)
    with pytest.raises(InvalidTopic, match=r"'a_b\.dlq'.*'a\.b\.dlq', the dead-letter topic of 'a\.b'"):
        desk.create("a_b.dlq")
    desk.create("a.b.dlq")
    alter(desk, "a.b", expiry_policy="drop")
    desk.run(desk.topics.plan_delete(["a.b.dlq"]))
    desk.create("a_b.dlq")


def test_a_compacted_dead_letter_topic_is_refused_from_either_side(desk: Desk) -> None:
    desk.create("t")
    desk.create("t.dlq", 1, COMPACT)
    with pytest.raises(InvalidConfig, match="must not be compacted"):
        alter(desk, "t", expiry_policy="dlq")
    alter(desk, "t.dlq", cleanup_policy="delete")
    alter(desk, "t", expiry_policy="dlq")
    with pytest.raises(InvalidConfig, match="of 't' must not be compacted"):
        alter(desk, "t.dlq", cleanup_policy="compact,delete")
    desk.create("u", 1, {**DLQ, "dead.letter.topic": "morgue"})
    with pytest.raises(InvalidConfig, match="of 'u' must not be compacted"):
        desk.create("morgue", 1, COMPACT)


@pytest.mark.parametrize("names", [("t", "t.dlq"), ("t.dlq", "t")])
def test_both_sides_may_come_in_one_request(desk: Desk, names: tuple[str, str]) -> None:
    configs = {"t": DLQ, "t.dlq": COMPACT}
    plan = desk.topics.plan_create([TopicSpec(name, 1, configs=configs[name]) for name in names])
    assert not isinstance(plan.results[0], BrokerError)
    assert isinstance(plan.results[1], InvalidConfig)
    for name in names:
        desk.create(name)
    set_ = {
        "t": ConfigAlteration("expiry.policy", AlterOperation.SET, "dlq"),
        "t.dlq": ConfigAlteration("cleanup.policy", AlterOperation.SET, "compact"),
    }
    altered = desk.topics.plan_alter_configs(
        [(ConfigResource(ResourceType.TOPIC, name), [set_[name]]) for name in names]
    )
    assert not isinstance(altered.results[0], BrokerError)
    assert isinstance(altered.results[1], InvalidConfig)


def test_other_keys_of_a_topic_with_such_a_fault_can_be_altered(desk: Desk) -> None:
    desk.create("t.dlq", 1, COMPACT)
    desk.create("t")
    desk.restart({"log.expiry.policy": "dlq"})
    alter(desk, "t", retention_ms="5")
    assert desk.topics.by_name["t"].dead_letter_topic == "t.dlq"


@pytest.mark.parametrize(("key", "value"), [("log_expiry_policy", "dlq"), ("log_cleanup_policy", "compact")])
def test_a_default_of_the_broker_that_does_it_is_refused(desk: Desk, key: str, value: str) -> None:
    desk.create("t", 1, {} if key == "log_expiry_policy" else DLQ)
    desk.create("t.dlq", 1, COMPACT if key == "log_expiry_policy" else {})
    with pytest.raises(InvalidRequest, match="must not be compacted"):
        alter(desk, "", **{key: value})
    alter(desk, "t.dlq", cleanup_policy="delete")
    alter(desk, "", **{key: value})


def test_the_brokers_own_topics_have_no_dead_letters(desk: Desk) -> None:
    desk.restart({"log.expiry.policy": "dlq"})
    assert desk.create("__consumer_offsets", 1, COMPACT).dead_letter_topic is None
