"""The Kafka APIs, one file each: what it serves, in which versions, with its quirks.

Each module has `KEY`, `VERSIONS` (first and last), `RIGHTS` (`wire/kafka/rights.py`: what it asks its callers for; one
that does not say is an error at import) and `handle`; this package collects them, and the answer
to ApiVersions is made from what it found. A module may have `FIRST_ADVERTISED_VERSION` and `LAST_ADVERTISED_VERSION`
where clients are told of others than are served, and `ADVERTISED = False` where only nodes ask. Two files with one key
are an error at import.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from attrs import evolve, frozen

from coordinators.access.access import AccessControl
from wire.kafka.rights import Rights, guarded
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
    rights: Rights
    first_advertised_version: int
    last_advertised_version: int
    advertised: bool = True
    """Whether clients are told of it."""

    def serves(self, version: int) -> bool:
        """Whether requests of this version are handled."""
        return self.first_version <= version <= self.last_version

    def bound(self, services: Services) -> "Api":
        """The same with its handler given the services that it names."""
        handle = services.bound(self.handle, HANDLED)
        return evolve(self, handle=guarded(self.name, self.rights, handle, services[AccessControl]))


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
            rights=_rights(found.name, module),
            first_advertised_version=getattr(module, "FIRST_ADVERTISED_VERSION", first),
            last_advertised_version=getattr(module, "LAST_ADVERTISED_VERSION", last),
            advertised=getattr(module, "ADVERTISED", True),
        )
        if api.key in apis:
            raise ImportError(f"{found.name} and {apis[api.key].name} both serve API key {api.key}")
        apis[api.key] = api
    return apis


def _rights(name: str, module: ModuleType) -> Rights:
    """What the module declares. That its handler asks for rights where it says so shows in its signature."""
    rights = getattr(module, "RIGHTS", None)
    if not isinstance(rights, Rights) or not (rights.checks or rights.reason):
        raise ImportError(f"{name} does not say by RIGHTS what rights it asks for")
    if rights.asks_within and not rights.of_nodes and AccessControl not in module.handle.__annotations__.values():
        raise ImportError(f"{name} declares rights that its handler asks for, which does not name AccessControl")
    return rights


_apis: dict[int, Api] = {}


def registered() -> dict[int, Api]:
    """Every API by its key; loaded at the first call."""
    if not _apis:
        _apis.update(_load())
    return _apis
