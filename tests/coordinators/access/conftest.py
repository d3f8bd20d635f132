"""What the tests of rules share: each kind of catalogue that keeps them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue.catalogue import Catalogue
from tests.engine.catalogue.conftest import etcd, opened
from tests.engine.catalogue.test_catalogue import IMPLEMENTATIONS

__all__ = ["etcd", "opened"]


@pytest.fixture(params=["memory", "sqlite", "model", pytest.param("etcd", marks=pytest.mark.slow)])
def catalogue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalogue]:
    found = IMPLEMENTATIONS[request.param](request, tmp_path)
    yield found
    found.close()
