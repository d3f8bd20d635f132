"""Where the operations door is, and that it is the door of the broker that is meant.

Two addresses name one broker: Kafka's and the door's. If they name two, a command would look at one broker and change
the other. So the door is asked for at the Kafka address, where nobody has named it; and whoever has named it, or been
told of it, compares the cluster's id on both sides before anything else is asked (docs/adr/0026).
"""

from urllib.parse import urlsplit

from attrs import frozen

from tools.cli import settings
from tools.cli.errors import CannotReach, CliError, NotFound, Refused, UsageMistake
from tools.cli.kafka import Kafka, connected, run
from tools.cli.profiles import Profile
from tools.cli.settings import Kind

DOOR_KEY = "http.advertised.url"
WILDCARDS = ("0.0.0.0", "::")
NO_DOOR = "start it with --http-port, or name its door with --http; other brokers than Tidegate have none"


@frozen
class Broker:
    """What a Kafka address answers about the broker behind it."""

    cluster_id: str | None
    door: str | None
    """None where it has none, or does not tell."""


def ask(profile: Profile) -> Broker:
    """Who answers at the Kafka address."""
    return run(_ask(profile))


async def _ask(profile: Profile) -> Broker:
    async with connected(profile) as kafka:
        return await told(kafka)


async def told(kafka: Kafka) -> Broker:
    """The cluster's id, and where its door is."""
    answer = await kafka.metadata([])
    node = kafka.nodes[0]
    try:
        found = await settings.read(kafka, Kind.BROKER, str(node), [DOOR_KEY])
    except Refused:
        # Somebody who may not read settings can still name the door.
        found = []
    url = next((each["value"] for each in found if each["value"]), None)
    host = next((each.host for each in answer.brokers if each.node_id == node), "")
    return Broker(answer.cluster_id, None if url is None else reachable(str(url), host))


def reachable(url: str, host: str) -> str:
    """A door that is bound to every address is reached at the one by which its broker is."""
    parts = urlsplit(url)
    if parts.hostname not in WILDCARDS:
        return url
    name = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=name if parts.port is None else f"{name}:{parts.port}").geturl()


def meant(profile: Profile) -> Broker | None:
    """The broker of the Kafka address; None if nobody has named one, and nobody is where it would be by default."""
    try:
        return ask(profile)
    except CannotReach as error:
        if profile.http is not None and not profile.names_bootstrap:
            return None
        if profile.http is not None:
            error.add(f"without it nobody can tell whether the door at {profile.http} is the same broker's")
        raise


def door_of(profile: Profile, broker: Broker | None) -> str:
    """The address of the door to knock at."""
    if profile.http is not None:
        return profile.http
    if broker is None or broker.door is None:
        raise NotFound(f"the broker at {profile.bootstrap} has no operations door", NO_DOOR)
    if not may_be_shown(profile, broker.door):
        raise UsageMistake(
            f"the broker at {profile.bootstrap} says that its door is at {broker.door}, which is another host",
            "name it with --http if the token or password may be sent there",
        )
    return broker.door


def may_be_shown(profile: Profile, url: str) -> bool:
    """Whether what the profile holds of secrets may be sent to a door that nobody has named."""
    # Passwords are shown to doors with TLS alone.
    password = profile.sasl_password if url.startswith("https://") else None
    secrets = (profile.token, profile.sasl_token, password)
    return all(each is None for each in secrets) or is_near(url, profile)


def is_near(url: str, profile: Profile) -> bool:
    """Whether a door is where the broker is: a stranger who tells of a door must not collect tokens by it."""
    host = urlsplit(url).hostname or ""
    known = {address.strip().rpartition(":")[0].strip("[]").lower() for address in profile.bootstrap.split(",")}
    return host in known or host == "localhost" or host == "::1" or host.startswith("127.")


def compare(broker: Broker | None, cluster_id: str | None, url: str, bootstrap: str) -> None:
    """Refuse a door that is another broker's."""
    if broker is not None and broker.cluster_id != cluster_id:
        raise other_broker(broker.cluster_id, cluster_id, url, bootstrap)


def other_broker(expected: str | None, found: str | None, url: str, bootstrap: str) -> CliError:
    """That two addresses name two brokers."""
    return UsageMistake(
        f"{bootstrap} and {url} are two brokers: cluster {expected} and cluster {found}",
        "leave out --http and TIDEGATE_CLI_HTTP, and the door is found through --bootstrap; or name two that belong "
        "together",
    )
