"""A client's batch that has to wait for its turn, and one that is a dead letter."""

from coordinators.release.client_batch import ClientBatch
from engine.log.types import Origin
from engine.records.layout import HEADER_SIZE
from tests.engine.stage.world import client_batch, record


def test_a_copy_does_not_change_with_the_buffer_that_it_came_in() -> None:
    whole = client_batch([record("x")])
    buffer = bytearray(whole)
    batch = ClientBatch(memoryview(buffer), memoryview(buffer)[HEADER_SIZE:])
    copied = batch.copied()
    buffer[:] = bytes(len(buffer))
    assert (copied.records, copied.section) == (whole, whole[HEADER_SIZE:])
    assert bytes(batch.records) != whole


def test_a_letter_is_known_to_the_log_as_one() -> None:
    assert ClientBatch(b"", b"", is_letter=True).origin is Origin.LETTER
    assert ClientBatch(b"", b"").origin is Origin.CLIENT
