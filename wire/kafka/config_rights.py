"""Whose configs a request is about, as a resource of rights: a topic, a group, or the cluster for everything else."""

from typing import Any

from coordinators.access.access import AccessControl
from coordinators.access.acls import CLUSTER_NAME
from coordinators.configs import ResourceType


def topic_of(resource: Any, _: AccessControl) -> str | None:
    """The topic, if it is one."""
    return resource.resource_name if resource.resource_type == ResourceType.TOPIC else None


def group_of(resource: Any, _: AccessControl) -> str | None:
    """The group, if it is one."""
    return resource.resource_name if resource.resource_type == ResourceType.GROUP else None


def cluster_of(resource: Any, _: AccessControl) -> str | None:
    """The cluster, for nodes and whatever is neither topic nor group."""
    return None if resource.resource_type in (ResourceType.TOPIC, ResourceType.GROUP) else CLUSTER_NAME
