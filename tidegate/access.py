"""Who asks, what it may do and how much: what the catalogue says of that, loaded and followed."""

from coordinators.access.quotas.quotas import Quotas
from coordinators.access.quotas.rates import QuotaWindow
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.waiting import in_worker
from tidegate.world import World


async def compose_access(world: World, replicas: ReplicaManager) -> tuple[object, ...]:
    """The services that every door is given."""
    return (await _quotas(world, replicas),)


async def _quotas(world: World, replicas: ReplicaManager) -> Quotas:
    settings = replicas.topics.settings
    window = QuotaWindow(settings.integer("quota.window.num"), settings.integer("quota.window.size.seconds"))
    quotas = Quotas(world.clock, window)
    await in_worker(world.catalogue_workers, quotas.load, replicas.catalogue)
    replicas.row_followers.append(quotas)
    return quotas
