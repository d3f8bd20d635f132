"""A mapping as it would be after some changes: what it lies over is neither altered nor copied."""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_GONE: Final[Any] = object()


class Overlay(MutableMapping[K, V]):
    """Costs what was changed, however much lies beneath; going through it costs as much as there is."""

    __slots__ = ("_beneath", "_changes")

    def __init__(self, beneath: Mapping[K, V]) -> None:
        self._beneath = beneath
        self._changes: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        value = self._changes.get(key, self)
        if value is self:
            return self._beneath[key]
        if value is _GONE:
            raise KeyError(key)
        return value  # type: ignore[return-value]

    def __setitem__(self, key: K, value: V) -> None:
        self._changes[key] = value

    def __delitem__(self, key: K) -> None:
        self[key]  # which must be there
        self._changes[key] = _GONE

    def __iter__(self) -> Iterator[K]:
        changes = self._changes
        yield from (key for key in self._beneath if changes.get(key) is not _GONE)
        yield from (key for key, value in changes.items() if value is not _GONE and key not in self._beneath)

    def __len__(self) -> int:
        return len(self._beneath) + sum(
            (value is not _GONE) - (key in self._beneath) for key, value in self._changes.items()
        )

    def changed(self) -> Iterator[tuple[V | None, V | None]]:
        """What was there before and what is there now, of every key that was set or taken out."""
        for key, value in self._changes.items():
            yield self._beneath.get(key), None if value is _GONE else value
