"""What can be called: each service in a file of `services/`, which lists its methods."""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from attrs import evolve, frozen
from google.protobuf.message import Message

from wire.grpc import services as services_package
from wire.grpc.calls import GrpcCall
from wire.services import Services

GIVEN = 1
"""A handler is given the call, or its only message and the call; behind those it names the services that it uses."""

Handler = Callable[[GrpcCall[Any]], Awaitable[None]]


@frozen
class GrpcMethod:
    """One method. `handle` takes the call, and the services that it names once they are bound."""

    path: str
    request: type[Message]
    handle: Callable[..., Awaitable[None]]
    is_open: bool = False
    """Whether anybody may call it: it tells nothing of what the broker holds."""
    needs_readiness: bool = True
    """Whether it is refused while the broker starts or stops."""

    def bound(self, services: Services) -> "GrpcMethod":
        """The same with its services."""
        return evolve(self, handle=services.bound(self.handle, GIVEN))


def load_methods(services: Services) -> Mapping[str, GrpcMethod]:
    """[thread] All of them by path, each given the services that it names."""
    found: dict[str, GrpcMethod] = {}
    for module in pkgutil.iter_modules(services_package.__path__):
        listed: tuple[GrpcMethod, ...] = importlib.import_module(f"{services_package.__name__}.{module.name}").METHODS
        for method in listed:
            assert method.path not in found, f"{method.path} is there twice"
            found[method.path] = method.bound(services)
    return found
