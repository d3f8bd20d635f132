"""Whom a quota is about: a user, a client id, both together, or an address; a name of None is the default of its type.

A row of the catalogue is named by it: `quotas/users/alice/clients/app`, `quotas/ips/<default>`. Names are escaped, so
that nobody can be called `<default>` or reach into somebody else's row.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote

from attrs import frozen

from engine.catalogue.records import QUOTAS
from engine.errors import InvalidRequest, UnsupportedVersion

USER, CLIENT_ID, IP = "user", "client-id", "ip"
TYPES = (USER, CLIENT_ID, IP)
"""In the order in which an entity tells of them."""
_PLACES = {USER: "users", CLIENT_ID: "clients", IP: "ips"}
_TYPES = {place: kind for kind, place in _PLACES.items()}
_DEFAULT = "<default>"


@frozen
class Entity:
    """See the module; its parts come in the order of `TYPES`."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, parts: Iterable[tuple[str, str | None]]) -> "Entity":
        """`InvalidRequest` if there is no such thing."""
        named: dict[str, str | None] = {}
        for kind, name in parts:
            if kind not in TYPES:
                raise InvalidRequest(f"Unhandled client quota entity type: {kind}")
            if kind in named:
                raise InvalidRequest(f"Invalid client quota entity, entity type {kind} is named twice")
            if name == "":
                raise InvalidRequest(f"Empty {kind} not supported")
            named[kind] = name
        if not named:
            raise InvalidRequest("Invalid empty client quota entity")
        if IP in named:
            if len(named) > 1:
                raise InvalidRequest("Invalid quota entity combination: ip cannot be combined with user or client-id")
            name = named[IP]
            if name is not None and address_of(name) is None:
                raise InvalidRequest(f"{name} is not a valid IP address")
        return cls(tuple((kind, named[kind]) for kind in TYPES if kind in named))

    @classmethod
    def from_key(cls, key: str) -> "Entity":
        """Out of the name of its row."""
        words = key.removeprefix(QUOTAS).split("/")
        return cls(
            tuple(
                (_TYPES[place], None if name == _DEFAULT else unquote(name))
                for place, name in zip(words[::2], words[1::2], strict=True)
            )
        )

    @property
    def key(self) -> str:
        """The name of its row."""
        return QUOTAS + "/".join(
            f"{_PLACES[kind]}/{_DEFAULT if name is None else quote(name, safe='')}" for kind, name in self.parts
        )

    @property
    def names(self) -> dict[str, str | None]:
        """By type."""
        return dict(self.parts)

    def __str__(self) -> str:
        return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in self.parts)


def address_of(text: str) -> str | None:
    """An address in the one way in which it is compared, of IPv4 where that is carried in IPv6; None if it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


EXACT, DEFAULT, ANY = 0, 1, 2
"""How a component of a filter matches: this name, the default, either."""


@frozen
class Component:
    """What a filter asks of one part of an entity."""

    kind: str
    match_type: int
    match: str | None

    def fits(self, names: dict[str, str | None]) -> bool:
        return self.kind in names and (self.match_type == ANY or names[self.kind] == self.match)


@frozen
class Filter:
    """Which entities are asked for; a strict one wants no other parts than it names."""

    components: tuple[Component, ...]
    strict: bool

    @classmethod
    def of(cls, components: Sequence[Component], *, strict: bool) -> "Filter":
        """`InvalidRequest` if it contradicts itself, `UnsupportedVersion` for a type that is unknown."""
        seen: set[str] = set()
        for each in components:
            if not each.kind:
                raise InvalidRequest("Invalid empty entity type.")
            if each.kind in seen:
                raise InvalidRequest(f"Entity type {each.kind} cannot appear more than once in the filter.")
            if each.kind not in TYPES:
                raise UnsupportedVersion(f"Unsupported entity type {each.kind}")
            seen.add(each.kind)
            _check_match(each)
        if IP in seen and len(seen) > 1:
            raise InvalidRequest(
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component."
            )
        return cls(tuple(components), strict)

    def fits(self, entity: Entity) -> bool:
        """Whether it is asked for."""
        names = entity.names
        if self.strict and len(names) != len(self.components):
            return False
        return all(component.fits(names) for component in self.components)


def _check_match(component: Component) -> None:
    kind, match = component.match_type, component.match
    if kind not in (EXACT, DEFAULT, ANY):
        raise InvalidRequest(f"Unknown match type {kind}")
    if kind == EXACT and match is None:
        raise InvalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if kind != EXACT and match is not None:
        name = "MATCH_TYPE_DEFAULT" if kind == DEFAULT else "MATCH_TYPE_SPECIFIED"
        raise InvalidRequest(f"Request specified {name}, but also specified a match string.")
