"""Avro's types: what they are made of, and how they are called."""

from coordinators.schemas.formats.avro.types import ArrayType, Name, Primitive, RecordField, RecordType, everything_in


def test_a_name_is_said_as_short_as_it_can_be() -> None:
    name = Name("Order", "shop")
    assert (name.full, name.seen_from("shop"), name.seen_from("")) == ("shop.Order", "Order", "shop.Order")


def test_a_type_that_contains_itself_is_met_once() -> None:
    record = RecordType(Name("Node"))
    children = ArrayType(record, depth=2)
    number = Primitive("int")
    record.complete((RecordField("children", children), RecordField("number", number), RecordField("same", number)))
    met = list(everything_in(record))
    assert len(met) == 3
    assert set(met) == {record, children, number}
    assert record.depth == 3
