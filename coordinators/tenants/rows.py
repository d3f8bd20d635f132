"""A tenant as its row in the catalogue tells it: its name, who belongs to it, what it may use.

The name is the first part of everything that is the tenant's: topics, groups and transactional ids of `acme` are called
`acme.something`. It holds neither dots nor underscores: so no name of one tenant's can be taken for one of another's,
nor collide with one (Kafka writes a dot as an underscore in names of metrics, and two topics may not differ in that
alone).
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import asdict, evolve, fields, frozen

from coordinators.access.callers import Principal
from engine.catalogue.records import TENANTS, encode
from engine.errors import InvalidRequest

SEPARATOR = "."
NAME_LENGTH_MAX = 64
_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?")
LONG_MAX = 2**63 - 1


def is_tenant_name(name: str) -> bool:
    """Whether a tenant may be called so."""
    return _NAME.fullmatch(name) is not None and len(name) <= NAME_LENGTH_MAX


@frozen
class TenantLimits:
    """What a tenant may use; None is no limit. Rates are of each node, as Kafka's quotas are."""

    producer_byte_rate: int | None = None
    """Bytes of records that are published in a second."""
    consumer_byte_rate: int | None = None
    """Bytes of records that are fetched in a second."""
    request_rate: int | None = None
    """Requests in a second."""
    connections: int | None = None
    """At one time, to each node."""
    storage_bytes: int | None = None
    """On the disks of each node, in the partitions that it leads; past it nothing is published, and reading goes on."""
    topics: int | None = None
    partitions: int | None = None
    """Of all its topics."""
    pending_records: int | None = None
    """Delayed records that wait for their time, on each node."""

    def check(self) -> None:
        """`InvalidRequest` if one cannot be."""
        for name, value in asdict(self).items():
            if value is not None and not 0 <= value <= LONG_MAX:
                raise InvalidRequest(f"{name} is {value}: a limit is a number from 0 on, or none")
            if name.endswith("_rate") and value == 0:
                raise InvalidRequest(f"{name} is 0: at this rate nothing would ever be answered; 1 is the least")

    def changed(self, changes: Mapping[str, int | None]) -> "TenantLimits":
        """These with some others; `InvalidRequest` for what is no limit."""
        for name in changes:
            if name not in LIMIT_NAMES:
                raise InvalidRequest(f"no limit is called {name!r}; there are {', '.join(LIMIT_NAMES)}")
        after = evolve(self, **changes)
        after.check()
        return after


LIMIT_NAMES: tuple[str, ...] = tuple(each.name for each in fields(TenantLimits))


@frozen
class TenantRecord:
    """A tenant."""

    name: str
    principals: tuple[str, ...] = ()
    """Who belongs to it: `User:alice`, or all whose names begin so, `User:acme.*`."""
    rewrite: bool = False
    """Whether its principals see names without the prefix, by whichever listener they come."""
    limits: TenantLimits = TenantLimits()
    deleted: bool = False
    """It is no more: the row says only whom it listed, so that they are refused and not taken for nobody's."""

    @property
    def key(self) -> str:
        return TENANTS + self.name

    @property
    def prefix(self) -> str:
        """What all its names begin with."""
        return self.name + SEPARATOR

    def includes(self, principal: Principal) -> bool:
        """Whether the row says that the principal belongs to it."""
        text = str(principal)
        return any(text.startswith(each[:-1]) if each.endswith("*") else text == each for each in self.principals)

    def check(self) -> None:
        """`InvalidRequest` if it cannot be."""
        if not is_tenant_name(self.name):
            raise InvalidRequest(
                f"a tenant cannot be called {self.name!r}: letters, digits and '-' within, up to "
                f"{NAME_LENGTH_MAX} characters"
            )
        for each in self.principals:
            kind, colon, name = each.partition(":")
            if not (kind and colon and name) or name == "*" or "*" in name[:-1]:
                raise InvalidRequest(
                    f"{each!r} names no principals: User:alice is one, User:{self.prefix}* are all whose names begin so"
                )
        self.limits.check()

    def encode(self) -> bytes:
        limits = {name: value for name, value in asdict(self.limits).items() if value is not None}
        row: dict[str, Any] = {
            "name": self.name,
            "principals": self.principals,
            "rewrite": self.rewrite,
            "limits": limits,
        }
        return encode(row | {"deleted": True} if self.deleted else row)

    @classmethod
    def decode(cls, value: bytes) -> "TenantRecord":
        row: dict[str, Any] = json.loads(value)
        limits = {name: row.get("limits", {}).get(name) for name in LIMIT_NAMES}
        principals, rewrite, deleted = row.get("principals", ()), row.get("rewrite", False), row.get("deleted", False)
        return cls(row["name"], tuple(principals), rewrite, TenantLimits(**limits), deleted)


def default_principals(name: str) -> tuple[str, ...]:
    """Who belongs to a tenant for which nobody says: users that are named after it."""
    return (f"User:{name}{SEPARATOR}*",)
