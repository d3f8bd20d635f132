"""Validation in the publish path, composed."""

from collections.abc import Sequence

from coordinators.cluster.controller import ClusterController
from coordinators.schemas.registry import Registry
from coordinators.schemas.validation.homes import tenants_homes
from coordinators.schemas.validation.validation import SchemaValidation
from engine.workers import Workers


def compose_validation(services: Sequence[object], controller: ClusterController, workers: Workers) -> SchemaValidation:
    """Records held against schemas, for topics that ask for it now or later."""
    (registry,) = (each for each in services if isinstance(each, Registry))
    topics = controller.topics
    most = topics.settings.integer("schema.validation.cache.size")
    validation = SchemaValidation.compose(registry, topics.view, workers, most, tenants_homes(topics.tenants))
    controller.replicas.on_change.append(validation.topic_changed)
    return validation
