"""What the catalogue holds of users: by SCRAM's mechanisms, what is kept of a password. Never the password itself.

Keys:
  users/<name>    a user: salt, iterations and keys for each mechanism that has a password
  access/secret   from which salts are made for users that there are not (coordinators/access/users.py)
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import Factory, field, frozen

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Put
from engine.catalogue.records import SECRET_BYTES, encode
from engine.ids import RandomBytes

USERS = "users/"
ACCESS_SECRET = "access/secret"


@frozen
class ScramCredential:
    """What a server needs to check one who knows a password (RFC 5802). With the keys one could pose as the server, and
    try passwords: they are never told, logged or shown."""

    salt: bytes = field(repr=False)
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


@frozen
class UserRecord:
    """A user, and what is kept of its password by the name of the mechanism."""

    name: str
    scram: Mapping[str, ScramCredential] = Factory(dict)

    @property
    def key(self) -> str:
        return USERS + self.name

    def encode(self) -> bytes:
        return encode({"name": self.name, "scram": {name: _fields(each) for name, each in self.scram.items()}})

    @classmethod
    def decode(cls, value: bytes) -> "UserRecord":
        fields = json.loads(value)
        return cls(fields["name"], {name: _credential(each) for name, each in fields.get("scram", {}).items()})


def _fields(credential: ScramCredential) -> dict[str, Any]:
    return {
        "salt": credential.salt.hex(),
        "iterations": credential.iterations,
        "stored_key": credential.stored_key.hex(),
        "server_key": credential.server_key.hex(),
    }


def _credential(fields: Mapping[str, Any]) -> ScramCredential:
    salt, stored_key, server_key = (bytes.fromhex(fields[name]) for name in ("salt", "stored_key", "server_key"))
    return ScramCredential(salt, fields["iterations"], stored_key, server_key)


def access_secret(catalogue: Catalogue, random_bytes: RandomBytes) -> bytes:
    """[thread] The secret that the catalogue holds, or a new one, now in the catalogue."""
    while (entry := catalogue.get(ACCESS_SECRET)) is None:
        value = random_bytes(SECRET_BYTES).hex().encode()
        with suppress(CatalogueConflict):
            catalogue.commit(Commit((Compare(ACCESS_SECRET, 0),), (Put(ACCESS_SECRET, value),)))
    return bytes.fromhex(entry.value.decode())
