"""What a path and a query say, in types."""

import msgspec
import pytest

from coordinators.schemas.errors import InvalidVersion
from wire.registry.calls import Paged, parsed_version, with_booleans


class Query(msgspec.Struct, rename="camel"):
    deleted: bool = False
    deleted_only: bool = False
    name: str = ""


def test_versions_are_numbers_or_the_latest() -> None:
    assert parsed_version("latest") is None
    assert parsed_version("-1") is None
    assert parsed_version("2147483647") == 2**31 - 1
    for text in ("0", "2147483648", "", "one", "+1", "1 ", "٣"):
        with pytest.raises(InvalidVersion):
            parsed_version(text)


def test_booleans_are_read_in_any_case() -> None:
    fields = {"deleted": "True", "deletedOnly": "TRUE", "name": "True", "other": "true"}
    assert with_booleans(fields, Query) == {"deleted": True, "deletedOnly": True, "name": "True", "other": "true"}
    assert with_booleans({"deleted": "yes"}, Query) == {"deleted": False}


def test_pages_are_parts_of_lists() -> None:
    items = [1, 2, 3, 4]
    assert Paged().of(items) == items
    assert Paged(offset=1, limit=2).of(items) == [2, 3]
    assert Paged(offset=-1, limit=0).of(items) == items
    assert Paged(offset=9).of(items) == []
