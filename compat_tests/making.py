"""Objects with connections of their own that a scenario makes as it needs them; all are closed with it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Protocol, TypeVar


class Closable(Protocol):
    """Has something to close."""

    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)


@contextmanager
def making(kind: Callable[..., T]) -> Iterator[Callable[..., T]]:
    """Makes such objects, with what is given to each."""
    with ExitStack() as stack:

        def make(**options: Any) -> T:
            return stack.enter_context(closing(kind(**options)))

        yield make
