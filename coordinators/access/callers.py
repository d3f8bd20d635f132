"""Who asks: a principal, and the address that it asks from."""

import ipaddress
from collections.abc import Callable

from attrs import field, frozen

from engine.errors import SaslAuthenticationFailed

USER = "User"
_MAPPED = "::ffff:"


@frozen(cache_hash=True)
class Principal:
    """Somebody that rules, quotas and logs can name, as Kafka writes it: `User:alice`."""

    name: str
    kind: str = USER

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal("ANONYMOUS")
"""Whoever came by a listener that asks nobody who it is."""


def known(name: str) -> Principal:
    """The user of this name who has shown who it is; `SaslAuthenticationFailed` for what is nobody's name."""
    if not name or name == ANONYMOUS.name:
        raise SaslAuthenticationFailed(f"nobody can be called {name!r}: that is who was not asked")
    return Principal(name)


def always() -> bool:
    """What is not taken away."""
    return True


@frozen
class Proof:
    """Who somebody has shown to be to a door that asks with every call, or once for a long one."""

    principal: Principal
    counts: Callable[[], bool] = always
    """Whether it counts still: a user may be deleted, and a token ends."""
    tenant: str | None = None
    """As a token names it."""

    def coming_from(self, host: str) -> "Caller":
        """The same as a caller from this address."""
        return Caller(self.principal, host, tenant=self.tenant, counts=self.counts)


@frozen(cache_hash=True)
class Caller:
    """Whose request it is. One for as long as a connection lives: whoever shows anew who it is must be the same."""

    principal: Principal
    host: str
    """The address as text, of IPv4 where that is carried in IPv6."""
    key: str = field(init=False, eq=False, repr=False)
    """Both as one text, to look decisions up by."""

    @key.default
    def _key(self) -> str:
        return f"{self.principal} {self.host}"

    tenant: str | None = None
    """The tenant that its token names; None where none was shown, or it names none."""
    counts: Callable[[], bool] = field(default=always, eq=False, repr=False)
    """Whether what it has shown counts still; what goes on for long asks."""


def plain_address(address: str) -> str:
    """As callers, rules and limits name it: of IPv4 where that is carried in IPv6."""
    return address.removeprefix(_MAPPED)


def network_of(address: str) -> str:
    """Where it comes from, for whoever takes turns or has a share: of IPv6 the network, all addresses of which one host
    may have."""
    plain = plain_address(address)
    if ":" not in plain:
        return plain
    try:
        return str(ipaddress.IPv6Network((plain.partition("%")[0], 64), strict=False))
    except ValueError:
        return plain


NODE = Caller(Principal("tidegate", "Node"), "")
"""This broker itself, and the others of its cluster: what they do was permitted to whoever made them do it."""
