"""Those who change schemas: loaded by whoever first needs them, for most callers only look."""

from coordinators.cluster.controller import ClusterController
from coordinators.schemas.changes import Changes
from coordinators.schemas.deleting import SchemaDeleting
from coordinators.schemas.parsing import Parsing
from coordinators.schemas.registering import Registering
from coordinators.schemas.registry import Registry
from coordinators.schemas.settings import RegistrySettings
from engine.workers import Workers
from wire.services import Services


def with_changes(services: Services) -> Services:
    """The services, and those who change schemas."""
    registry, controller = services[Registry], services[ClusterController]
    workers: Workers = services[Workers]  # type: ignore[type-abstract]
    changes = Changes(registry, controller)
    parsing = Parsing(registry, workers, controller.topics.settings.integer("schema.max.bytes"))
    added = (
        Registering(registry, parsing, changes),
        SchemaDeleting(registry, changes),
        RegistrySettings(registry, changes),
    )
    return services.extended({type(each): each for each in added})
