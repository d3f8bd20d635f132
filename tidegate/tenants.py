"""What serves tenants, composed."""

from typing import Any

from coordinators.cluster.controller import ClusterController
from coordinators.tenants.administration import TenantAdministration
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages


def tenant_services(controller: ClusterController) -> dict[type[Any], object]:
    """The tenants that there are, who makes them, and what they use."""
    return {
        Tenants: controller.topics.tenants,
        TenantAdministration: TenantAdministration(controller),
        Usages: Usages(),
    }
