"""The services of a broker, found by their type, and functions that are given those they name.

A door's handlers are plain functions. Their first parameters are the request and who sent it; each parameter behind
those is a service, named by the type of its annotation: `def handle(request, context, groups: Groups)`. A door binds
them once, when it is made: a service that it does not have is an error then, not at the first request.
"""

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar, cast

T = TypeVar("T")


class MissingService(TypeError):
    """A handler names a service that the door was not given."""


class Services:
    """See the module."""

    def __init__(self, by_type: Mapping[type[Any], object]) -> None:
        self._by_type = dict(by_type)

    def __getitem__(self, kind: type[T]) -> T:
        """The service of this type; `MissingService` if there is none."""
        found = self._by_type.get(kind)
        if found is None:
            raise MissingService(f"there is no service of type {getattr(kind, '__name__', kind)}")
        return cast("T", found)

    def extended(self, by_type: Mapping[type[Any], object]) -> "Services":
        """These and more."""
        return Services({**self._by_type, **by_type})

    def bound(self, function: Callable[..., Any], given: int) -> Callable[..., Any]:
        """The function with every parameter after the first `given` ones filled in.

        The services become its defaults: so a call costs what it did, where a closure or a partial would add to it.
        """
        assert isinstance(function, FunctionType)
        code, annotations = function.__code__, function.__annotations__
        names = code.co_varnames[given : code.co_argcount]
        try:
            found = tuple(self[annotations[name]] for name in names)
        except (KeyError, MissingService) as error:
            raise MissingService(
                f"{function.__module__}.{function.__qualname__}({', '.join(names)}) cannot be given its services: "
                f"{error}"
            ) from None
        return FunctionType(code, function.__globals__, function.__name__, found, function.__closure__)
