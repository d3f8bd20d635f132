"""What a tenant's client says and is told: names and what holds them, there and back."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.topic_view import Topic, TopicView
from engine.catalogue.records import PartitionRecord
from engine.config.resolve import TopicConfig
from wire.kafka.codec import WireError
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.describe_configs import DescribeConfigsResource, DescribeConfigsResult
from wire.kafka.tenancy.view import PrefixedView, RewritingView, TenantView

MINE, THEIRS, UNKNOWN = bytes([1] * 16), bytes([2] * 16), bytes([3] * 16)


def view(kind: type[TenantView], tenant: str = "acme") -> TenantView:
    topics = TopicView()
    for name, topic_id in (("acme.orders", MINE), ("zulu.orders", THEIRS)):
        topics.add(Topic(name, topic_id, (PartitionRecord.on(1),), TopicConfig({"expiry.policy": "drop"})))
    return kind(tenant, f"{tenant}.", topics)


def both() -> Iterator[TenantView]:
    yield view(RewritingView)
    yield view(PrefixedView)


names = st.text(max_size=60) | st.sampled_from(["acme.", "acme.orders", "zulu.orders", "acme.\0x", "\0", "acme.acme.x"])


@given(names)
def test_every_name_comes_back_and_none_leaves_the_namespace(name: str) -> None:
    for each in both():
        meant = each.name_read(name)
        assert each.name_written(meant) == name
        assert meant == name == "" or str(meant).startswith("acme.")


@given(names, names)
def test_two_names_stay_two(one: str, other: str) -> None:
    for each in both():
        assert (each.name_read(one) == each.name_read(other)) == (one == other)


@given(names)
def test_two_tenants_never_mean_the_same(name: str) -> None:
    for kind in (RewritingView, PrefixedView):
        one, other = view(kind), view(kind, "zulu")
        if name:
            assert one.name_read(name) != other.name_read(name)
            assert not other.is_mine(one.name_read(name))


def test_no_name_is_none() -> None:
    for each in both():
        assert each.name_read(None) is None
        assert each.name_written(None) is None
        assert each.is_mine(None)


def test_a_name_that_would_not_fit_with_its_prefix_is_refused() -> None:
    with pytest.raises(WireError, match="longer than"):
        view(RewritingView).name_read("x" * 32_767)


def test_ids_of_others_become_nobodys_and_come_back() -> None:
    for each in both():
        for topic_id in (MINE, UNKNOWN, ZERO_UUID):
            assert each.topic_id_read(topic_id) == topic_id
        read = each.topic_id_read(THEIRS)
        assert read not in each.topics.by_id
        assert [each.topic_id_written(topic_id) for topic_id in (read, MINE, UNKNOWN)] == [THEIRS, MINE, UNKNOWN]


def test_a_pattern_is_kept_with_whose_it_is() -> None:
    for each, kept in ((view(RewritingView), "(*tenant acme)^or.*"), (view(PrefixedView), "(*within acme)^or.*")):
        assert each.pattern_read("^or.*") == kept
        assert each.pattern_written(kept) == "^or.*"
        assert each.pattern_read("") == ""


def test_reasons_name_what_the_client_named() -> None:
    told = view(RewritingView).reason_written("Topic 'acme.orders' exists; macme.x and acme. stay")
    assert told == "Topic 'orders' exists; macme.x and acme. stay"
    assert view(PrefixedView).reason_written("no topic is called 'acme.\\x00orders'") == "no topic is called 'orders'"


def test_a_resource_that_is_the_operators_cannot_be_reached() -> None:
    for each in both():
        read = each.resource_read(DescribeConfigsResource(4, "1"))
        assert read.resource_type == 2
        assert read.resource_name.startswith("acme.\1")
        written = each.resource_written(DescribeConfigsResult(3, "x", read.resource_type, read.resource_name))
        assert (written.resource_type, written.resource_name) == (4, "1")
        assert written.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
