"""How callers of a door other than Kafka's show who they are, as the configuration has it."""

from tidegate.entrances import Entrances
from tidegate.listening import BoundDoor
from wire.http.callers import Reception
from wire.tls.identity import TlsIdentity


def receive(
    entrances: Entrances, bound: BoundDoor, name: str, protocols: tuple[str, ...] = ()
) -> tuple[TlsIdentity | None, Reception]:
    """The door's side of TLS, if it has one, and who asks its callers; `name` is the door's as a listener."""
    tls = entrances.door(name, protocols) if bound.has_tls else None
    passwords = entrances.passwords() if bound.takes_passwords else None
    return tls, Reception(
        bound.access,
        check_password=passwords.check if passwords else None,
        recall=passwords.recall if passwords else None,
        check_token=entrances.token_check(name) if bound.takes_tokens else None,
        certificates=tls is not None and tls.sources.client_auth != "none",
        delay_s=entrances.config.settings.integer("connection.failed.authentication.delay.ms") / 1000,
        failed=entrances.failed,
        door=name,
    )
