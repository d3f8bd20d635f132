"""The registry below the operations door: loaded when somebody first asks for it."""

from collections import Counter
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.http.callers import Visitor
from wire.services import Services

if TYPE_CHECKING:
    from wire.http.messages import Request, Response
    from wire.registry.application import RegistryApplication

PATH = "/schemas"


@define(eq=False)
class MountedRegistry:
    """See the module. `answered` is the door's count of what it has answered."""

    services: Services
    answered: Counter[tuple[str, str, int]]
    _application: "RegistryApplication | None" = field(default=None, init=False)
    _loading: trio.Lock = field(factory=trio.Lock, init=False)

    def takes(self, path: str) -> bool:
        """Whether a path is the registry's."""
        return path == PATH or path.startswith(f"{PATH}/")

    async def respond(self, request: "Request", visitor: Visitor) -> "Response":
        """The registry's answer."""
        return await (await self._loaded()).respond(request, visitor)

    async def turns_away(self, request: "Request", visitor: Visitor) -> "Response | None":
        """The registry's answer to who sends a large body, if it is none from whom that is taken."""
        return await (await self._loaded()).turns_away(request, visitor)

    async def _loaded(self) -> "RegistryApplication":
        async with self._loading:
            if self._application is None:
                workers: Workers = self.services[Workers]  # type: ignore[type-abstract]
                self._application = await in_worker(workers, _load, self.services)
                self._application.answered = self.answered
        return self._application


def _load(services: Services) -> "RegistryApplication":
    """[thread]"""
    from wire.registry.application import load_registry

    return load_registry(services, mounted=True)
