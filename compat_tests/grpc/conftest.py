"""A broker with a gRPC door, shared by these scenarios."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests import brokers
from compat_tests.grpc.stubs import Stubs, stubs
from tidegate.testing import RunningBroker, broker


@pytest.fixture(scope="session")
def grpc_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    if brokers.target() != "tidegate":
        pytest.skip("Apache Kafka has no gRPC door")
    with broker({"grpc.port": "-1"}, data_dir=Path(tmp_path_factory.mktemp("grpc"))) as running:
        yield running


@pytest.fixture
def door(grpc_broker: RunningBroker) -> Iterator[Stubs]:
    with stubs(grpc_broker.grpc_address) as found:
        yield found
