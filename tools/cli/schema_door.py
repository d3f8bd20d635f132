"""The schema registry as commands ask it: below the broker's operations door, or at any registry's own address."""

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from tools.cli.door import Door, door_at, spoken
from tools.cli.door_address import door_of, meant
from tools.cli.errors import CliError, NotFound, Refused
from tools.cli.profiles import Profile

MOUNT = "/schemas"


class SchemaDoor:
    """Calls of the registry, with its errors in our words."""

    def __init__(self, door: Door, base: str) -> None:
        self._door = door
        self._base = base

    def ask(self, method: str, *path: str, body: Any = None, **query: Any) -> Any:
        """What the registry answers; its refusals are raised."""
        given = {name: _text(value) for name, value in query.items() if value is not None}
        target = self._base + "".join("/" + quote(each, safe="") for each in path)
        with spoken(self._door) as door:
            status, said = door.exchange(method, f"{target}?{urlencode(given)}" if given else target, body)
        return _answer(status, said)

    def or_nothing(self, *path: str) -> Any:
        """What is there, or nothing."""
        try:
            return self.ask("GET", *path)
        except NotFound:
            return None

    def schema(self, schema_id: int, subject: str = "") -> Any:
        """A schema by its id."""
        return self.ask("GET", "schemas", "ids", str(schema_id), subject=subject or None)

    def version(self, subject: str, version: str) -> Any:
        """A version of a subject, with its schema."""
        return self.ask("GET", "subjects", subject, "versions", version)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _answer(status: int, body: bytes) -> Any:
    try:
        said = json.loads(body)
    except ValueError:
        raise CliError(f"this is no registry: it answers {status} with {body[:60]!r}", "see --registry") from None
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return said
    message = str(said.get("message", said) if isinstance(said, dict) else said).rstrip(".")
    if status == HTTPStatus.NOT_FOUND:
        raise NotFound(message, "'tidegate schema list' shows the subjects that there are")
    if status == HTTPStatus.UNAUTHORIZED:
        raise Refused(message, "a token goes into TIDEGATE_CLI_TOKEN; over https sasl_username and sasl_password count")
    raise Refused(message)


def registry_of(profile: Profile, url: str | None) -> SchemaDoor:
    """The registry at an address, or that of the broker that the profile means."""
    where = door_of(profile, meant(profile)) if url is None else url
    return SchemaDoor(door_at(where, profile), MOUNT if url is None else "")
