"""Schemas registered and looked up: one id for one schema, versions that rise, levels and modes obeyed."""

import json
from functools import partial

import pytest
import trio
from trio.testing import trio_test

from coordinators.schemas.errors import (
    IdDoesNotMatch,
    IncompatibleSchema,
    OperationNotPermitted,
    SchemaNotFound,
    SchemaTooLarge,
    SubjectNotFound,
    UnacceptableSchema,
)
from coordinators.schemas.names import GLOBAL, Subject, checked
from coordinators.schemas.rows import Reference, SchemaContent
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.memory import MemoryCatalogue
from tests.coordinators.schemas.registries import RegistryNode, avro

ORDERS = Subject(".", "orders-value")


def compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"))


@trio_test
async def test_ids_begin_at_one_and_a_schema_has_one_whatever_its_subjects(catalogue: Catalogue) -> None:
    node = RegistryNode(catalogue)
    first = await node.register("orders-value", avro("a"))
    assert (first.schema.id, first.version.number) == (1, 1)
    assert await node.register("orders-value", avro("a")) == first, "again is no change"
    assert (await node.register("orders-value", compact(avro("a")))).schema.id == 1, "white space means nothing"
    assert (await node.register("bills-value", avro("a"))).schema.id == 1
    second = await node.register("orders-value", avro("a", "b="))
    assert (second.schema.id, second.version.number) == (2, 2)
    assert node.commits == 3
    for other in (node, RegistryNode(catalogue)):
        assert other.versions("orders-value") == [(1, 1, False), (2, 2, False)]
        assert other.versions("bills-value") == [(1, 1, False)]
        found = other.registry.latest("orders-value")
        assert found is not None
        assert found.text == avro("a", "b="), "the text is answered as it came"


@trio_test
async def test_nodes_that_register_at_once_give_one_schema_one_id(catalogue: Catalogue) -> None:
    nodes = [RegistryNode(catalogue) for _ in range(3)]
    ids: list[int] = []

    async def register(node: RegistryNode, number: int) -> None:
        same = await node.register(f"same-{number % 2}", avro("a"))
        own = await node.register(f"own-{number}", avro(f"a{number}"))
        ids.extend((same.schema.id, own.schema.id))

    async with trio.open_nursery() as nursery:
        for number in range(9):
            nursery.start_soon(register, nodes[number % 3], number)
    same = {node.registry.by_guid(row.guid) for node in nodes for row in [node.registry.latest("same-0")] if row}
    assert sorted(set(ids)) == list(range(1, 11)), "ten schemas, and no id is left out"
    for node in nodes:
        node.follow(catalogue.revision())
        assert node.registry.next_id(".") == 11
        assert node.versions("same-0")[0][1] == node.versions("same-1")[0][1]
    assert same


@trio_test
async def test_one_who_was_overtaken_is_judged_by_what_came_before(catalogue: Catalogue) -> None:
    """A schema that fits version 1 does not fit version 2, which another node registers in between."""
    quick, slow = RegistryNode(catalogue), RegistryNode(catalogue)
    await quick.register("orders-value", avro("a"))
    slow.follow(catalogue.revision())
    await quick.put_level(ORDERS, "FULL")
    slow.follow(catalogue.revision())
    slow.before_commit.append(partial(quick.register, "orders-value", avro("a", "b=")))
    fields = [{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": ""}]
    with pytest.raises(IncompatibleSchema, match="version 2"):
        await slow.register("orders-value", json.dumps({**json.loads(avro("a")), "fields": fields}))
    assert slow.versions("orders-value") == [(1, 1, False), (2, 2, False)]


@trio_test
@pytest.mark.parametrize(
    ("level", "accepted", "refused"),
    [
        ("NONE", avro("z"), None),
        ("BACKWARD", avro("b="), avro("c")),
        ("FORWARD", avro("b", "c"), avro()),
        ("FULL", avro("b", "c="), avro("b", "c")),
    ],
)
async def test_levels_are_obeyed(node: RegistryNode, level: str, accepted: str, refused: str | None) -> None:
    await node.register("orders-value", avro("b"))
    await node.put_level(ORDERS, level)
    if refused is not None:
        with pytest.raises(IncompatibleSchema, match=level):
            await node.register("orders-value", refused)
        assert await node.registering.check(ORDERS, SchemaContent("AVRO", refused))
    assert await node.registering.check(ORDERS, SchemaContent("AVRO", accepted)) == []
    assert (await node.register("orders-value", accepted)).version.number == 2


@trio_test
async def test_transitive_levels_look_at_every_version_and_others_at_the_last(node: RegistryNode) -> None:
    await node.put_level(GLOBAL, "BACKWARD")
    await node.register("orders-value", avro("a"))
    await node.register("orders-value", avro("a", "b="))
    wanted = avro("a", "b")
    assert await node.registering.check(ORDERS, SchemaContent("AVRO", wanted)) == []
    await node.put_level(GLOBAL, "BACKWARD_TRANSITIVE")
    (reason, *_) = await node.registering.check(ORDERS, SchemaContent("AVRO", wanted))
    assert "version 1" in reason
    assert await node.registering.check(ORDERS, SchemaContent("AVRO", wanted), 2) == [], "one version alone"


@trio_test
async def test_a_schema_of_another_type_fits_only_without_a_level(node: RegistryNode) -> None:
    await node.register("orders-value", avro("a"))
    with pytest.raises(UnacceptableSchema, match="schema type"):
        await node.register("orders-value", "{}", type="CUNEIFORM")


@trio_test
async def test_looking_up_tells_subject_from_schema(node: RegistryNode) -> None:
    with pytest.raises(SubjectNotFound):
        await node.look_up("orders-value", avro("a"))
    await node.register("orders-value", avro("a"))
    with pytest.raises(SchemaNotFound):
        await node.look_up("orders-value", avro("b"))
    assert (await node.look_up("orders-value", compact(avro("a")))).version.number == 1
    await node.deleting.subject(ORDERS)
    with pytest.raises(SubjectNotFound):
        await node.look_up("orders-value", avro("a"))
    assert (await node.look_up("orders-value", avro("a"), deleted=True)).version.deleted


@trio_test
async def test_registered_again_after_it_was_deleted_a_schema_has_its_id_and_a_new_version(node: RegistryNode) -> None:
    await node.register("orders-value", avro("a"))
    await node.deleting.subject(ORDERS)
    again = await node.register("orders-value", avro("a"))
    assert (again.schema.id, again.version.number) == (1, 2)


@trio_test
async def test_normalised_schemas_are_one(node: RegistryNode) -> None:
    written = json.dumps({"name": "x.Order", "type": "record", "fields": [{"type": "int", "name": "a", "doc": "d"}]})
    other = json.dumps(
        {"type": "record", "name": "Order", "namespace": "x", "fields": [{"name": "a", "doc": "d", "type": "int"}]}
    )
    first = await node.register("orders-value", written, normalize=True)
    assert await node.register("orders-value", other, normalize=True) == first
    await node.settings.put_config(GLOBAL, {"normalize": True})
    assert await node.register("orders-value", other) == first, "the setting counts as the wish"
    assert (await node.look_up("orders-value", other)).schema.id == 1


@trio_test
async def test_references_are_found_pinned_and_count_as_part_of_the_schema(node: RegistryNode) -> None:
    line = json.dumps({"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]})
    order = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]})
    with pytest.raises(UnacceptableSchema):
        await node.register("orders-value", order)
    with pytest.raises(UnacceptableSchema, match="No schema reference found"):
        await node.register("orders-value", order, Reference("Line", "lines", 1))
    await node.register("lines", line)
    found = await node.register("orders-value", order, Reference("Line", "lines", -1))
    assert found.schema.content.references == (Reference("Line", "lines", 1),)
    assert node.registry.referrers == {(checked("lines"), 1): {(".", 2): None}}


@trio_test
async def test_a_chain_of_references_has_an_end(node: RegistryNode) -> None:
    await node.register("s0", avro("a", name="R0"))

    async def register(number: int) -> None:
        reference = Reference(f"R{number - 1}", f"s{number - 1}", 1)
        await node.register(f"s{number}", avro("a", name=f"R{number}"), reference)

    for number in range(1, 101):
        await register(number)
    with pytest.raises(UnacceptableSchema, match="more than 100 deep"):
        await register(101)


@trio_test
async def test_importing_takes_ids_and_versions_as_they_were(node: RegistryNode) -> None:
    with pytest.raises(OperationNotPermitted, match="not in import mode"):
        await node.register("orders-value", avro("a"), id=77)
    await node.settings.put_mode(GLOBAL, "IMPORT")
    with pytest.raises(OperationNotPermitted, match="is in import mode"):
        await node.register("orders-value", avro("a"))
    found = await node.register("orders-value", avro("a"), id=77, version=5)
    assert (found.schema.id, found.version.number) == (77, 5)
    assert (await node.register("orders-value", avro("z"), id=12, version=2)).version.number == 2, "nothing is compared"
    assert node.versions("orders-value") == [(2, 12, False), (5, 77, False)]
    with pytest.raises(IdDoesNotMatch):
        await node.register("bills-value", avro("q"), id=77)
    with pytest.raises(OperationNotPermitted):
        await node.register("orders-value", avro("z"), id=12, version=5)
    await node.settings.put_mode(GLOBAL, "READWRITE")
    assert (await node.register("bills-value", avro("q"))).schema.id == 78


@trio_test
async def test_a_version_that_is_given_must_be_the_next(node: RegistryNode) -> None:
    with pytest.raises(UnacceptableSchema, match="1 is the next"):
        await node.register("orders-value", avro("a"), version=2)
    assert (await node.register("orders-value", avro("a"), version=1)).version.number == 1


@trio_test
async def test_what_is_read_only_takes_nothing(node: RegistryNode) -> None:
    await node.settings.put_mode(ORDERS, "READONLY")
    with pytest.raises(OperationNotPermitted, match="read-only"):
        await node.register("orders-value", avro("a"))
    await node.register("bills-value", avro("a"))
    await node.settings.put_mode(GLOBAL, "READONLY_OVERRIDE")
    await node.settings.put_mode(ORDERS, "READWRITE")
    with pytest.raises(OperationNotPermitted, match="read-only"):
        await node.register("orders-value", avro("a"))


@trio_test
async def test_contexts_count_for_themselves(node: RegistryNode) -> None:
    await node.register("orders-value", avro("a"))
    other = await node.register(":.shop:orders-value", avro("b"))
    assert other.schema.id == 1
    assert (await node.register(":.shop:orders-value", avro("b", "c="))).schema.id == 2
    assert node.registry.by_id(1) != node.registry.by_id(1, ".shop")
    assert node.registry.is_registered(":.shop:orders-value", 2)
    assert not node.registry.is_registered("orders-value", 2)


@trio_test
async def test_texts_are_bounded() -> None:
    node = RegistryNode(MemoryCatalogue(), most_bytes=100)
    with pytest.raises(SchemaTooLarge, match=r"schema\.max\.bytes is 100"):
        await node.register("orders-value", avro("a", doc="x" * 100))
    with pytest.raises(UnacceptableSchema, match="Empty"):
        await node.register("orders-value", "  ")
