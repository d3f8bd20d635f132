"""The doors of all nodes: who is asked, who could not be, and what comes of it together."""

from typing import Any

import pytest
from attrs import define, field

from tests.tools.cli.conftest import Tidegate
from tidegate.admin import AdminError, Unreachable
from tidegate.testing import RunningBroker
from tools.cli import all_doors
from tools.cli.all_doors import AllDoors, all_opened
from tools.cli.profiles import Profile


@define(eq=False)
class FakeDoor:
    """Tells what it was given, or does not answer."""

    rows: list[dict[str, Any]] = field(factory=list)
    error: AdminError | None = None

    def read_all(self, *_path: str) -> list[dict[str, Any]]:
        if self.error is not None:
            raise self.error
        return self.rows

    def read(self, *_path: str, query: dict[str, Any]) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        skip = query["skip"]
        return {"offsets": {"items": self.rows[skip : skip + query["limit"]], "total": len(self.rows)}}


def row(partition: int, first_offset: int = 0, window: int | None = 1) -> dict[str, Any]:
    return {"topic": "t", "partition": partition, "first_offset": first_offset, "window": window}


def doors(*all_of_them: FakeDoor) -> AllDoors:
    return AllDoors(dict(enumerate(all_of_them)))  # type: ignore[arg-type]


def test_what_all_of_them_tell_is_put_in_order() -> None:
    asked = doors(FakeDoor([row(2), row(0, 5)]), FakeDoor([row(1)]))
    found = [(each["partition"], each["first_offset"]) for each in all_doors.in_hand(asked, "g")]
    assert found == [(0, 5), (1, 0), (2, 0)]
    assert asked.warning is None


def test_of_a_partition_its_leader_tells() -> None:
    asked = doors(FakeDoor([row(0), row(1, window=None)]), FakeDoor([row(0, window=None), row(1, window=7)]))
    assert {place: each["window"] for place, each in all_doors.places(asked, "g").items()} == {
        ("t", 0): 1,
        ("t", 1): 7,
    }


def test_a_node_that_does_not_answer_is_told() -> None:
    asked = doors(FakeDoor([row(0)]), FakeDoor(error=Unreachable("gone")))
    assert [each["partition"] for each in all_doors.in_hand(asked, "g")] == [0]
    assert asked.warning == "without what these nodes lead: node 1: gone"


def test_without_the_first_there_is_no_answer() -> None:
    with pytest.raises(Unreachable):
        all_doors.in_hand(doors(FakeDoor(error=Unreachable("gone")), FakeDoor([row(0)])), "g")


def test_pages_are_read_to_their_end() -> None:
    asked = doors(FakeDoor([row(number) for number in range(2_500)]))
    assert len(all_doors.places(asked, "g")) == 2_500


def test_a_node_by_itself_has_one_door(tidegate: Tidegate, broker: RunningBroker) -> None:
    with all_opened(Profile(bootstrap=broker.bootstrap, http=broker.http_url, timeout_s=60)) as opened:
        assert (len(opened.doors), opened.warning) == (1, None)
