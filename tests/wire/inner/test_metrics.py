"""Figures of residents: who lives here, and who did."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.inner.house import NOBODY, House, open_house
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import create_topic
from wire.inner.member import MemberWanted
from wire.inner.metrics import ResidentMetrics
from wire.inner.residents import Residents
from wire.inner.share_member import ShareMemberWanted

PATIENCE_S = 20.0


def told(house: House) -> dict[tuple[str, str], float]:
    """Each figure by its name and kind."""
    families = ResidentMetrics(house.service(Residents)).collect()
    return {(family.name, sample.labels["kind"]): sample.value for family in families for sample in family.samples}


@trio_test
async def test_members_are_counted_while_they_live_and_remembered_when_they_have_left(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        assert set(told(house).values()) == {0}
        assert "members" not in vars(house.service(Residents)), "who only counts loads nothing"
        await create_topic(await house.door.connect(), "t", 1)
        residents = house.service(Residents)
        worker = await residents.share_members.join(NOBODY, "http", "g", ShareMemberWanted(("t",)))
        await worker.until_joined(PATIENCE_S)
        await residents.members.join(NOBODY, "http", "readers", MemberWanted(("t",)))
        assert told(house)["tidegate_doors_residents", "share_member"] == 1
        assert told(house)["tidegate_doors_residents", "member"] == 1
        await worker.leave()
        await until(lambda: told(house)["tidegate_doors_residents", "share_member"] == 0)
        assert told(house)["tidegate_doors_residents_total", "share_member"] == 1
        assert told(house)["tidegate_doors_residents", "producer"] == 0
