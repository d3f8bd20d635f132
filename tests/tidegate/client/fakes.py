"""A broker's door as the client sees it, by a script: each call of a method gets the next entry."""

from collections.abc import Callable, Iterator
from typing import Any

import grpc


class Failure(grpc.RpcError):
    """What gRPC raises."""

    def __init__(self, code: grpc.StatusCode, error: str = "") -> None:
        super().__init__()
        self._code, self._error = code, error

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "words"

    def trailing_metadata(self) -> tuple[tuple[str, str], ...]:
        return (("tidegate-error", self._error),) if self._error else ()


GONE = Failure(grpc.StatusCode.UNAVAILABLE)
ABORTED = Failure(grpc.StatusCode.ABORTED, "UnknownMemberId")
REFUSED = Failure(grpc.StatusCode.PERMISSION_DENIED, "TopicAuthorizationFailed")


class FakePool:
    """For clients; `asked` are the requests in their order."""

    def __init__(self, made: Callable[["FakePool", str, Any], Any], *script: Any) -> None:
        self.metadata = (("authorization", "Bearer token"),)
        self.channels: list[Any] = []
        self.script = list(script)
        self.asked: list[Any] = []
        self._made = made

    def method(self, name: str) -> Any:
        return self._made(self, name, self.script)


def played(entries: list[Any]) -> Iterator[Any]:
    """Messages of a stream; what is an exception is raised."""
    for entry in entries:
        if isinstance(entry, Exception):
            raise entry
        yield entry
