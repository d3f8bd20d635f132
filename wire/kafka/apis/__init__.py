"""The Kafka APIs, one file each: what it serves, in which versions, with its quirks.

Each module has `KEY`, `VERSIONS` (first and last) and `handle`; this package collects them, and the answer
to ApiVersions is made from what it found. A module may have `FIRST_ADVERTISED_VERSION` and `LAST_ADVERTISED_VERSION`
where clients are told of others than are served, and `ADVERTISED = False` where only nodes ask. Two files with one key
are an error at import.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from attrs import evolve, frozen

from wire.services import Services

HANDLED = 2
"""A handler's own parameters, `request` and `context`; those behind are services."""


@frozen
class Api:
    """One registered API."""

    key: int
    name: str
    first_version: int
    last_version: int
    handle: Callable[..., Any]
    first_advertised_version: int
    last_advertised_version: int
    advertised: bool = True
    """Whether clients are told of it."""

    def serves(self, version: int) -> bool:
        """Whether requests of this version are handled."""
        return self.first_version <= version <= self.last_version

    def bound(self, services: Services) -> "Api":
        """The same with its handler given the services that it names."""
        return evolve(self, handle=services.bound(self.handle, HANDLED))


def _load() -> dict[int, Api]:
    apis: dict[int, Api] = {}
    for found in iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        first, last = module.VERSIONS
        api = Api(
            key=module.KEY,
            name=found.name,
            first_version=first,
            last_version=last,
            handle=module.handle,
            first_advertised_version=getattr(module, "FIRST_ADVERTISED_VERSION", first),
            last_advertised_version=getattr(module, "LAST_ADVERTISED_VERSION", last),
            advertised=getattr(module, "ADVERTISED", True),
        )
        if api.key in apis:
            raise ImportError(f"{found.name} and {apis[api.key].name} both serve API key {api.key}")
        apis[api.key] = api
    return apis


_apis: dict[int, Api] = {}


def registered() -> dict[int, Api]:
    """Every API by its key; loaded at the first call."""
    if not _apis:
        _apis.update(_load())
    return _apis
