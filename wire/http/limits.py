"""The bounds that the operations door keeps, and who may call it."""

from attrs import field, frozen


@frozen
class HttpLimits:
    """Bounds of the door, from the broker's configuration."""

    max_connections: int = 64
    max_request_bytes: int = 1024 * 1024
    max_header_bytes: int = 16 * 1024
    request_timeout_s: float = 10.0
    max_idle_s: float = 60.0


@frozen
class Access:
    """Who may call. `token` is None where none is asked for; `hosts` are the names a caller may call us by, or None
    for any."""

    token: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = None
