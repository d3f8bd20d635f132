"""Ids as Kafka's clients and tools take them."""

import os
from uuid import UUID

from engine.ids import ZERO_ID, id_text, new_id


def test_the_text_of_an_id_is_kafkas() -> None:
    assert id_text(UUID("00000000-0000-0000-0000-000000000001").bytes) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert len(id_text(new_id(os.urandom))) == 22


def test_a_new_id_is_a_random_uuid() -> None:
    assert UUID(bytes=new_id(os.urandom)).version == 4


def test_an_id_whose_text_begins_with_a_dash_is_not_taken() -> None:
    draws = iter([b"\xf8" + bytes(15), b"\x01" * 16])
    made = new_id(lambda _size: next(draws))
    assert made[0] == 1
    assert made != ZERO_ID
