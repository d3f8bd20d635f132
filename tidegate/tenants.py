"""What serves tenants, composed."""

from typing import Any

from coordinators.cluster.controller import ClusterController
from coordinators.tenants.administration import TenantAdministration
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from tidegate.config import BrokerConfig
from wire.kafka.listeners import ListenerSettings
from wire.kafka.tenancy.door import ListenerTenancy, TenantDoor


def tenant_services(controller: ClusterController) -> dict[type[Any], object]:
    """The tenants that there are, who makes them, and what they use."""
    return {
        Tenants: controller.topics.tenants,
        TenantAdministration: TenantAdministration(controller),
        Usages: Usages(),
    }


def bind_listeners(door: TenantDoor, config: BrokerConfig) -> None:
    """What the configuration says of listeners and tenants."""
    for number, listener in enumerate(config.listeners):
        settings = ListenerSettings(config.settings, listener.name)
        tenancy = ListenerTenancy(settings.text("tenant"), settings.flag("tenant.rewrite"))
        if tenancy != ListenerTenancy():
            door.listeners[number] = tenancy
