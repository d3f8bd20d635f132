"""A broker in this process that is asked from the inside, for the tests of the inner client."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

from attrs import define

from coordinators.access.callers import ANONYMOUS, Caller, Principal
from tests.wire.kafka.door import Door, open_door
from wire.inner.asking import InnerClient
from wire.inner.reading import RecordReading
from wire.inner.sending import Sending
from wire.kafka.calls import Guest

T = TypeVar("T")
HOST = "10.1.2.3"
NOBODY = Caller(ANONYMOUS, HOST)
GUARDED: dict[str, object] = {"authorizer.enable": "true", "super.users": "User:root"}


def user(name: str) -> Caller:
    return Caller(Principal(name), HOST)


@define(eq=False)
class House:
    """See the module."""

    door: Door

    def service(self, kind: type[T]) -> T:
        return self.door.broker.node.services[kind]

    @property
    def inner(self) -> InnerClient:
        return self.service(InnerClient)

    @property
    def sending(self) -> Sending:
        return self.service(Sending)

    @property
    def reading(self) -> RecordReading:
        return self.service(RecordReading)

    @contextmanager
    def guest(self, caller: Caller = NOBODY, door: str = "http") -> Iterator[Guest]:
        with self.inner.guest(caller, door) as guest:
            yield guest


@asynccontextmanager
async def open_house(data_dir: Path, settings: dict[str, object] | None = None) -> AsyncIterator[House]:
    """Run a broker for the length of the block."""
    async with open_door(data_dir, settings) as door:
        yield House(door)
