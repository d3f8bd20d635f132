"""What serves tenants, composed."""

from typing import Any

from coordinators.access.config import super_users
from coordinators.access.quotas.quotas import Quotas
from coordinators.cluster.controller import ClusterController
from coordinators.records.publishing import Publishing
from coordinators.release.releases import Releases
from coordinators.tenants.administration import TenantAdministration
from coordinators.tenants.holdings import Holdings
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from tidegate.config import BrokerConfig
from wire.inner.namespaces import Namespaces
from wire.kafka.listeners import ListenerSettings
from wire.kafka.tenancy.door import ListenerTenancy, TenantDoor
from wire.services import Services


def tenant_services(services: Services) -> dict[type[Any], object]:
    """The tenants that there are, who makes them, what they use and hold."""
    controller, publishing, releases = services[ClusterController], services[Publishing], services[Releases]
    topics = controller.topics
    usages = Usages(services[Quotas].window, topics.settings.integer("tenant.burst.ms") / 1000)
    holdings = Holdings(topics, controller.partitions, releases, usages, publishing.clock)
    releases.on_hold.append(holdings.check_hold)

    def follow() -> None:
        """Nobody is asked about storage while no tenant has a limit of it."""
        bounded = any(row.limits.storage_bytes is not None for row in topics.tenants)
        publishing.admission = holdings if bounded else None

    follow()
    topics.tenants.on_change.append(follow)
    return {
        Tenants: topics.tenants,
        TenantAdministration: TenantAdministration(controller, super_users(topics.settings.text("super.users"))),
        Usages: usages,
        Holdings: holdings,
        Namespaces: Namespaces(topics.tenants, topics.view, usages, publishing.clock),
    }


def bind_listeners(door: TenantDoor, config: BrokerConfig) -> None:
    """What the configuration says of listeners and tenants."""
    for number, listener in enumerate(config.listeners):
        settings = ListenerSettings(config.settings, listener.name)
        tenancy = ListenerTenancy(settings.text("tenant"), settings.flag("tenant.rewrite"))
        if tenancy != ListenerTenancy():
            door.listeners[number] = tenancy
