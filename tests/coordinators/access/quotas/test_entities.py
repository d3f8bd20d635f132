"""Entities and the names of their rows; what filters fit is told by the tests of DescribeClientQuotas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.access.quotas.entities import TYPES, Entity, address_of
from engine.catalogue.records import QUOTAS
from engine.errors import InvalidRequest

NAMES = st.none() | st.text(min_size=1)
CLIENTS = st.dictionaries(st.sampled_from(TYPES[:2]), NAMES, min_size=1)


@given(CLIENTS)
def test_a_row_names_its_entity_and_no_other(parts: dict[str, str | None]) -> None:
    try:
        entity = Entity.of(parts.items())
        key = entity.key
    except UnicodeEncodeError:
        return  # lone surrogates: no request can hold them
    assert key.startswith(QUOTAS)
    assert Entity.from_key(key) == entity
    assert key.count("/") == 2 * len(parts)


def test_a_user_may_be_called_as_the_default_is_written() -> None:
    assert Entity.of([("user", "<default>")]).key != Entity.of([("user", None)]).key
    assert str(Entity.of([("client-id", None), ("user", "u")])) == "user u, client-id <default>"


@pytest.mark.parametrize("name", ["example.org", "10.0.0", "10.0.0.256", "127.0.0.1/8"])
def test_an_address_is_not_looked_up(name: str) -> None:
    with pytest.raises(InvalidRequest, match="not a valid IP address"):
        Entity.of([("ip", name)])


def test_addresses_are_compared_in_one_form() -> None:
    assert address_of("::ffff:10.0.0.1") == address_of("10.0.0.1") == "10.0.0.1"
    assert address_of("2001:DB8:0:0::1") == "2001:db8::1"
    assert address_of("x") is None
