"""What the tests of the registry share: a node on each kind of catalogue."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue.catalogue import Catalogue
from engine.catalogue.memory import MemoryCatalogue
from tests.coordinators.schemas.registries import RegistryNode
from tests.engine.catalogue.conftest import etcd, opened
from tests.engine.catalogue.test_catalogue import IMPLEMENTATIONS

__all__ = ["etcd", "opened"]


@pytest.fixture
def node() -> RegistryNode:
    return RegistryNode(MemoryCatalogue())


@pytest.fixture(params=["memory", "sqlite", "model", pytest.param("etcd", marks=pytest.mark.slow)])
def catalogue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalogue]:
    found = IMPLEMENTATIONS[request.param](request, tmp_path)
    yield found
    found.close()
