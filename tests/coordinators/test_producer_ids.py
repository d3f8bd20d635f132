"""Producer ids never repeat."""

from coordinators.producer_ids import ProducerIdBlock, ProducerIds
from engine.catalogue.memory import MemoryCatalogue


def taken(ids: ProducerIds, number: int) -> list[int]:
    result = []
    while len(result) < number:
        if (producer_id := ids.take()) is None:
            ids.add(ids.reserve())
        else:
            result.append(producer_id)
    return result


def test_ids_are_handed_out_in_order_across_blocks() -> None:
    assert taken(ProducerIds(MemoryCatalogue(), 3), 8) == list(range(8))


def test_without_a_block_there_is_no_id() -> None:
    assert ProducerIds(MemoryCatalogue()).take() is None


def test_a_block_is_a_thousand_ids() -> None:
    assert ProducerIds(MemoryCatalogue()).reserve() == ProducerIdBlock(0, 1_000)


def test_ids_do_not_repeat_after_a_restart() -> None:
    catalogue = MemoryCatalogue()
    before = taken(ProducerIds(catalogue, 10), 15)
    after = taken(ProducerIds(catalogue, 10), 15)
    assert not set(before) & set(after)


def test_two_nodes_on_one_catalogue_never_share_an_id() -> None:
    catalogue = MemoryCatalogue()
    one, other = ProducerIds(catalogue, 2), ProducerIds(catalogue, 2)
    ids = [producer_id for _ in range(5) for producer_id in taken(one, 3) + taken(other, 3)]
    assert len(set(ids)) == len(ids)


def test_a_reservation_planned_against_an_older_state_is_tried_again() -> None:
    class Raced(MemoryCatalogue):
        raced = False

        def get(self, key: str) -> object:  # type: ignore[override]
            entry = super().get(key)
            if not self.raced:
                self.raced = True
                ProducerIds(self, 10).reserve()
            return entry

    assert ProducerIds(Raced(), 10).reserve() == ProducerIdBlock(10, 10)
