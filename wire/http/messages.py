"""A request and an answer of the operations door, free of the protocol's details."""

from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen


@frozen
class Request:
    """As it arrived. Header names are in lower case; the last of several of one name counts."""

    method: str
    target: str
    headers: Mapping[str, str] = field(factory=dict)
    body: bytes = b""


@frozen
class Response:
    """As it goes out."""

    status: int
    body: bytes = b""
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(factory=dict)


@define
class Call:
    """A request that was found right: what a route's handler is given, besides the services that it names."""

    place: Any
    """The parameters of the path, as the route declares them."""
    query: Any
    body: Any
    request: Request
