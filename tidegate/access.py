"""Who asks, what it may do and how much: what the catalogue says of that, loaded and followed."""

from coordinators.access.quotas.quotas import Quotas
from coordinators.access.quotas.rates import QuotaWindow
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.waiting import in_worker
from engine.timers import Timers
from tidegate.authorization import open_rights
from tidegate.world import World


async def compose_access(
    world: World, controller: ClusterController, timers: Timers, data_dir: str
) -> tuple[object, ...]:
    """The services that every door is given."""
    rights = await open_rights(controller, world.clock, timers, world.workers, data_dir)
    return (*rights, await _quotas(world, controller.replicas))


async def _quotas(world: World, replicas: ReplicaManager) -> Quotas:
    settings = replicas.topics.settings
    window = QuotaWindow(settings.integer("quota.window.num"), settings.integer("quota.window.size.seconds"))
    quotas = Quotas(world.clock, window)
    await in_worker(world.catalogue_workers, quotas.load, replicas.catalogue)
    replicas.row_followers.append(quotas)
    return quotas
