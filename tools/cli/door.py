"""The operations door of a broker: delayed records by `tidegate.admin`, and whatever else the door tells."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from tidegate.admin import AdminError, NoSuchRecord, NoSuchTopic, NotAllowed, TooLate, Unreachable
from tidegate.remote_admin import RemoteAdmin
from tools.cli.door_address import compare, door_of, meant
from tools.cli.errors import CannotReach, Exit, NotFound, Refused
from tools.cli.kafka import ssl_context
from tools.cli.output import Output
from tools.cli.profiles import Profile

NO_DOOR = "is the broker's door there? --http names another"
TOKEN = (
    "its http.token goes into TIDEGATE_CLI_TOKEN, or into the profile as token or token_file; over https sasl_username "
    "and sasl_password are shown, and ssl_certfile"
)
Json = dict[str, Any]


class Door(RemoteAdmin):
    """`RemoteAdmin`, and whatever else can be read."""

    def read(self, *path: str, query: Mapping[str, Any] | None = None) -> Json:
        """What a route tells."""
        return self._get("".join("/" + quote(each, safe="") for each in path), query)

    def read_all(self, *path: str, query: Mapping[str, Any] | None = None) -> Iterator[Json]:
        """The items of every page of a route."""
        return self._all("".join("/" + quote(each, safe="") for each in path), query or {})

    def warn_of_missing(self, output: Output) -> None:
        """Say whose part is not in the figures that were asked for last."""
        if self.missing_nodes:
            nodes = ", ".join(map(str, self.missing_nodes))
            output.note(f"without what these nodes lead, which cannot be asked: {nodes}")

    def start_scrub(self) -> bool:
        """Have everything on disk looked at; False if that is under way."""
        return bool(self._ask("POST", "/scrub")["started"])

    def tenant_change(self, method: str, name: str | None, body: Json | None, query: str = "") -> Json:
        """Make, alter or delete a tenant."""
        path = "/tenants" + ("" if name is None else "/" + quote(name, safe=""))
        return self._ask(method, f"{path}?{query}" if query else path, body)

    def exchange(self, method: str, target: str, body: Json | None = None) -> tuple[int, bytes]:
        """Status and body of whatever is answered, also where something else than the door's own API is below it."""
        connection = self._connection()
        sent = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, self._base + target, sent, self._headers(body is not None))
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.url} does not answer: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def health(self) -> Json:
        """How the broker is; also if it is not well, which the door tells by a status other than 200."""
        connection = self._connection()
        try:
            connection.request("GET", self._base + "/health", headers=self._headers(False))
            response = connection.getresponse()
            said = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{self.url} does not answer: {error or type(error).__name__}") from error
        finally:
            connection.close()
        if response.status == HTTPStatus.UNAUTHORIZED:
            raise NotAllowed(str(said))
        if not isinstance(said, dict) or not isinstance(said.get("uptime_seconds"), int | float):
            raise AdminError(str(said.get("detail", said)) if isinstance(said, dict) else f"{self.url} is no door")
        return said


def door_at(url: str, profile: Profile) -> Door:
    """The door of this address, with what the profile has to show there: a token, or over TLS the user's password."""
    is_safe = url.startswith("https://")
    token = profile.token or profile.sasl_token
    name, password = profile.sasl_username, profile.sasl_password
    user = (name, password) if is_safe and name and password else None
    return Door(url, token, profile.timeout_s, user=user, tls=ssl_context(profile) if is_safe else None)


@contextmanager
def opened(profile: Profile) -> Iterator[Door]:
    """The door of the broker that the profile means, with its errors in our words."""
    broker = meant(profile)
    url = door_of(profile, broker)
    with spoken(door_at(url, profile)) as door:
        compare(broker, door.read("cluster")["cluster_id"], url, profile.bootstrap)
        yield door


@contextmanager
def spoken(door: Door) -> Iterator[Door]:
    """A door, with its errors in our words."""
    try:
        yield door
    except Unreachable as error:
        raise CannotReach(str(error), NO_DOOR) from error
    except NotAllowed as error:
        given = "token" if door.token is not None else "password" if door.user is not None else None
        said = "wants to know who calls" if given is None else f"does not take this {given}"
        raise Refused(f"the operations door at {door.url} {said}", TOKEN) from error
    except NoSuchTopic as error:
        raise NotFound(str(error), "'tidegate topic list' shows the topics that there are") from error
    except NoSuchRecord as error:
        raise NotFound(str(error), "'tidegate pending list' shows those that wait") from error
    except TooLate as error:
        raise Refused(str(error), "'tidegate pending fate TOPIC ID' tells what became of it") from error
    except AdminError as error:
        raise Refused(str(error), _advice(door, error), status=_status(error)) from error


def _advice(door: Door, error: AdminError) -> str:
    """Who has rights may just not have said who it is."""
    if not error.error.endswith("AuthorizationFailed") or door.token is not None or door.user is not None:
        return ""
    return f"{door.url} was not told who calls: {TOKEN}"


def _status(error: AdminError) -> Exit:
    return (
        Exit.NOT_FOUND
        if error.error in ("", "GroupIdNotFound", "UnknownTenant") and _is_absence(str(error))
        else Exit.REFUSED
    )


def _is_absence(text: str) -> bool:
    return text.startswith(("no trace", "no group", "there is no tenant")) or "not traced" in text
