"""What share groups of this broker have beyond Kafka's: back-off, order by key, dead letters, bounds for a member."""

import time

import pytest

from compat_tests import brokers
from compat_tests.share.asking import prepare_group
from compat_tests.share.conftest import MakeMember, MakeTopic
from compat_tests.share.member import ACCEPT, REJECT, RELEASE
from compat_tests.share.sending import fill
from compat_tests.waiting import eventually
from compat_tests.wire.batches import build
from compat_tests.wire.requests import batches, produce, produced

pytestmark = pytest.mark.skipif(brokers.target() != "tidegate", reason="Kafka has none of it")


def test_a_released_record_comes_again_later_and_others_meanwhile(
    bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember
) -> None:
    prepare_group(bootstrap, group, **{"share.retry.backoff.ms": 2000})
    topic = make_queue()
    fill(bootstrap, topic, 1)
    member = make_member()
    assert member.collect(topic, 1) == {0: 1}
    began = time.monotonic()
    assert member.acknowledge(topic, (0, 0, RELEASE)) == 0
    fill(bootstrap, topic, 1)
    assert member.collect(topic, 1) == {1: 1}, "nobody waits for it"
    assert member.collect(topic, 1) == {0: 2}
    assert time.monotonic() - began > 1.9


def test_records_of_a_key_one_after_the_other(
    bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember
) -> None:
    prepare_group(bootstrap, group, **{"share.order": "key"})
    topic = make_queue()
    for key in (b"a", b"a", b"b", b"a"):
        assert produced(bootstrap, produce(topic, build([b"x"], key=key))).error_code == 0
    one, two = make_member(), make_member()
    assert set(one.collect(topic, 2)) == {0, 2}
    assert two.fetch(topic, max_wait_ms=300).offsets == []
    assert one.acknowledge(topic, (0, 0, ACCEPT)) == 0
    assert set(two.collect(topic, 1)) == {1}
    assert two.acknowledge(topic, (1, 1, ACCEPT)) == 0
    assert set(one.collect(topic, 1)) == {3}


def test_a_rejected_record_is_a_dead_letter(bootstrap: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    topic = make_queue()
    values = fill(bootstrap, topic, 2)
    member = make_member()
    member.collect(topic, 2)
    assert member.acknowledge(topic, (0, 1, [REJECT, ACCEPT])) == 0

    def letters() -> list[bytes | None]:
        try:
            return [value for batch in batches(bootstrap, f"{topic}.dlq") for value in batch.values]
        except AssertionError:
            return []  # the topic is being made

    eventually(letters, values[:1])


def test_a_member_is_lent_no_more_than_its_bound(
    bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember
) -> None:
    prepare_group(bootstrap, group, **{"share.consumer.max.in.flight": 5})
    topic = make_queue()
    fill(bootstrap, topic, 20, together=1)
    one, two = make_member(), make_member()
    had = one.fetch(topic).offsets
    assert had == list(range(5))
    assert one.fetch(topic, max_wait_ms=200).offsets == []
    assert two.fetch(topic).offsets == list(range(5, 10))
    assert one.acknowledge(topic, (0, 0, ACCEPT)) == 0
    assert one.fetch(topic).offsets == [10]
