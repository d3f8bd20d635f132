"""How much one request may come to once it is decoded; `codec/bounds.py` says how that is weighed."""

from attrs import frozen


@frozen
class RequestBounds:
    """Of all that is made of a request."""

    max_elements: int = 50_000
    """Elements of arrays and tags (`socket.request.max.elements`)."""
    max_expansion: int = 20
    """How many times its size it may weigh (`socket.request.max.expansion`)."""


BOUNDS = RequestBounds()
"""Unless the configuration says otherwise."""
