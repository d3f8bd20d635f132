"""Who asks, what it may do and how much, and which schemas there are: what the catalogue says, loaded and followed."""

from typing import TYPE_CHECKING

from coordinators.access.failed_logins import FailedLogins
from coordinators.access.quotas.quotas import Quotas
from coordinators.access.quotas.rates import QuotaWindow
from coordinators.access.users import Users
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.waiting import in_worker
from engine.catalogue.user_records import access_secret
from tidegate.authorization import open_rights
from tidegate.config import BrokerConfig
from tidegate.entrances import Entrances
from tidegate.schemas import open_registry
from tidegate.world import World
from wire.kafka.nodes.trust import NodeTrust

if TYPE_CHECKING:
    from tidegate.composition import Foundation


async def compose_access(
    under: "Foundation", config: BrokerConfig, controller: ClusterController, trust: NodeTrust
) -> tuple[object, ...]:
    """The services that every door is given."""
    world, replicas = under.world, controller.replicas
    users = await _users(world, replicas)
    failed = FailedLogins(world.clock, under.pulse.timers)
    entrances = Entrances(config, users, trust, world.clock, failed, world.workers, world.random_bytes)
    if entrances.need_secret:
        secret = await in_worker(world.catalogue_workers, access_secret, replicas.catalogue, world.random_bytes)
        users.take_secret(secret)
    rights = await open_rights(controller, world.clock, under.pulse.timers, world.workers, under.data_dir)
    return (users, entrances, *rights, await _quotas(world, replicas), await open_registry(world, controller))


async def _users(world: World, replicas: ReplicaManager) -> Users:
    users = await in_worker(world.catalogue_workers, Users.load, replicas.catalogue)
    replicas.row_followers.append(users)
    return users


async def _quotas(world: World, replicas: ReplicaManager) -> Quotas:
    settings = replicas.topics.settings
    window = QuotaWindow(settings.integer("quota.window.num"), settings.integer("quota.window.size.seconds"))
    quotas = Quotas(world.clock, window)
    await in_worker(world.catalogue_workers, quotas.load, replicas.catalogue)
    replicas.row_followers.append(quotas)
    return quotas
