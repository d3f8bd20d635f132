"""One broker with a registry, for all scenarios about schemas."""

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tidegate.testing import RunningBroker, broker


@pytest.fixture(scope="package")
def schema_broker() -> Iterator[RunningBroker]:
    with broker({"registry.port": "-1"}, timeout_s=30) as running:
        yield running


@pytest.fixture
def registry(schema_broker: RunningBroker) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": schema_broker.registry_url})


@pytest.fixture
def topic() -> str:
    """A name that no other scenario uses."""
    return f"orders-{uuid.uuid4().hex[:8]}"
