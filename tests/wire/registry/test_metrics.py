"""Figures of what is registered."""

from trio.testing import trio_test

from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import Door
from wire.registry.metrics import RegistryMetrics


@trio_test
async def test_what_is_registered_is_counted_as_it_changes(door: Door) -> None:
    metrics = RegistryMetrics(door.node.registry, None)

    def figures() -> dict[str, float]:
        return {family.name: next(iter(family.samples)).value for family in metrics.collect()}

    assert set(figures().values()) == {0}
    await door.register("s", avro("a"))
    await door.register("s", avro("a", "b="))
    await door.register("t", avro("a"))
    found = figures()
    assert found["tidegate_registry_subjects"] == 2
    assert found["tidegate_registry_versions"] == 3
    assert found["tidegate_registry_schemas"] == 2
