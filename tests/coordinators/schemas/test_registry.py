"""What a node knows of schemas: looked up without waiting, and true whatever news come again."""

from trio.testing import trio_test

from coordinators.cluster.news import read_whole
from coordinators.schemas.names import Subject, checked
from coordinators.schemas.registry import Registry
from engine.catalogue.memory import MemoryCatalogue
from tests.coordinators.schemas.registries import RegistryNode, avro

ORDERS = Subject(".", "orders-value")


@trio_test
async def test_ids_guids_and_subjects_are_found(node: RegistryNode) -> None:
    found = await node.register("orders-value", avro("a"))
    registry = node.registry
    assert registry.by_id(1) == found.schema == registry.by_guid(found.schema.guid) == registry.latest("orders-value")
    assert registry.is_registered("orders-value", 1)
    assert not registry.is_registered("orders-value", 2)
    assert not registry.is_registered("bills-value", 1)
    assert registry.by_id(2) is None
    assert registry.by_guid("0" * 36) is None
    await node.deleting.subject(ORDERS)
    assert not registry.is_registered("orders-value", 1)


@trio_test
async def test_records_of_an_alias_are_held_against_what_it_stands_for(node: RegistryNode) -> None:
    found = await node.register("shop-orders", avro("a"))
    await node.settings.put_config(ORDERS, {"alias": "shop-orders"})
    registry = node.registry
    assert registry.is_registered("orders-value", 1)
    assert registry.latest("orders-value") == found.schema
    assert registry.names(found.schema) == {"shop-orders", "orders-value"}
    await node.register("orders-value", avro("b"))
    assert not registry.is_registered("orders-value", 2), "what the name itself has is out of sight"
    assert registry.names(registry.schema_of(ORDERS, registry.subjects[ORDERS].versions[0])) == set()


@trio_test
async def test_whoever_wants_to_know_is_told_of_changes(node: RegistryNode) -> None:
    told: list[int] = []
    node.registry.on_change.append(lambda: told.append(node.registry.revision))
    await node.register("orders-value", avro("a"))
    await node.register("orders-value", avro("a"))
    await node.put_level(ORDERS, "NONE")
    assert told == [1, 2]


@trio_test
async def test_a_fresh_view_of_everything_changes_nothing_and_takes_away_what_is_gone(node: RegistryNode) -> None:
    await node.register("orders-value", avro("a"))
    await node.register("bills-value", avro("b"))
    whole = read_whole(*node.catalogue.entries(""), node.registry.row_keys())
    before = node.registry.revision
    node.registry.take(whole)
    assert node.registry.revision == before
    other = MemoryCatalogue()
    node.registry.take(read_whole(*other.entries(""), node.registry.row_keys()))
    assert not list(node.registry.row_keys())
    assert node.registry.statistics() == Registry().statistics()


@trio_test
async def test_figures_tell_what_there_is(node: RegistryNode) -> None:
    await node.register("orders-value", avro("a"))
    await node.register("orders-value", avro("a", "b="))
    await node.register(":.shop:orders-value", avro("a"))
    await node.deleting.version(ORDERS, 1)
    figures = node.registry.statistics()
    text_bytes = 2 * len(avro("a")) + len(avro("a", "b="))
    assert figures == {
        "contexts": 2,
        "subjects": 2,
        "deleted_subjects": 0,
        "versions": 3,
        "deleted_versions": 1,
        "schemas": 3,
        "references": 0,
        "text_bytes": text_bytes,
    }


@trio_test
async def test_settings_of_the_nearest_scope_hold(node: RegistryNode) -> None:
    subject, registry = checked(":.shop:orders"), node.registry
    await node.put_level(Subject(".", ""), "FULL")
    assert registry.setting(subject, "compatibility") == "FULL"
    await node.put_level(Subject(".shop", ""), "FORWARD")
    assert registry.setting(subject, "compatibility") == "FORWARD"
    await node.put_level(subject, "NONE")
    assert registry.setting(subject, "compatibility") == "NONE"
    await node.settings.delete_config(subject)
    assert registry.setting(subject, "compatibility") == "FORWARD"
    assert registry.setting(ORDERS, "compatibility") == "FULL"
