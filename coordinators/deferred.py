"""An answer that comes later: what a door holds while a coordinator or a partition still works on it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.errors import kept


def _nothing() -> None:
    """Nothing to tidy up."""


def _raise(error: Exception) -> None:
    raise error


class Deferred:
    """An answer that comes later, once."""

    __slots__ = ("_callback", "_is_resolved", "_message", "on_abandoned", "on_failed")

    def __init__(self) -> None:
        self.on_abandoned: Callable[[], object] = _nothing
        """Called when the client has gone and nobody will read the answer."""
        self.on_failed: Callable[[Exception], object] = _raise
        """Called with the bug that kept the answer from being made."""
        self._callback: Callable[[Any], object] | None = None
        self._message: Any = None
        self._is_resolved = False

    @property
    def resolved(self) -> bool:
        """Whether the answer is there."""
        return self._is_resolved

    def resolve(self, message: Any) -> None:
        """Give the answer; a second one is ignored (a deadline and the event itself may meet)."""
        if self._is_resolved:
            return
        self._is_resolved = True
        if isinstance(message, BaseException):
            kept(message)
        self._message = message
        callback, self._callback = self._callback, None
        if callback is not None:
            callback(message)
        # Who waited and whom it waited for know each other no longer: together they would be a ring.
        self.on_abandoned, self.on_failed = _nothing, _raise

    def resolve_by(self, make: Callable[[], Any]) -> None:
        """Give the answer that `make` returns; if it raises, that is a bug of this answer alone."""
        try:
            message = make()
        except Exception as error:
            self.on_failed(error)
            return
        self.resolve(message)

    def on_resolved(self, callback: Callable[[Any], object]) -> None:
        """Call back with the answer, at once if it is there."""
        if self._is_resolved:
            callback(self._message)
        else:
            self._callback = callback

    def map(self, convert: Callable[[Any], Any]) -> "Deferred":
        """The same answer, converted on its way."""
        mapped = Deferred()
        if self._is_resolved:
            mapped.resolve(convert(self._message))
            return mapped
        mapped.on_abandoned = lambda: self.on_abandoned()
        self.on_failed = lambda error: mapped.on_failed(error)
        self.on_resolved(lambda message: mapped.resolve_by(lambda: convert(message)))
        return mapped


def all_of(answers: Sequence[Deferred]) -> Deferred:
    """Every answer, in their order, once all are there."""
    together = Deferred()
    found: list[Any] = [None] * len(answers)
    missing = len(answers)

    def give(index: int, message: Any) -> None:
        nonlocal missing
        found[index] = message
        missing -= 1
        if missing == 0:
            together.resolve(found)

    if not answers:
        together.resolve(found)
    for index, answer in enumerate(answers):
        answer.on_resolved(partial(give, index))
    return together
