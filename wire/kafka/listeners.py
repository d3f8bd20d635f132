"""Listener addresses as Kafka writes them: `PLAINTEXT://127.0.0.1:9092`, several with commas between."""

from collections.abc import Sequence

from attrs import frozen

PROTOCOLS = ("PLAINTEXT",)


@frozen
class Listener:
    """Where the broker listens, or where clients are told to connect. Port 0 is any free port."""

    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol}://{host}:{self.port}"


def parse_listener(text: str) -> Listener:
    """`ValueError` if it is not `PROTOCOL://host:port`; an IPv6 host stands in brackets."""
    protocol, separator, address = text.strip().partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon or protocol.upper() not in PROTOCOLS:
        raise ValueError(text)
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise ValueError(text)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(text)
    return Listener(protocol.upper(), host, int(port))


def are_listeners(items: Sequence[str]) -> bool:
    """Whether each item is a listener and no two share an address."""
    try:
        listeners = [parse_listener(item) for item in items]
    except ValueError:
        return False
    fixed = [(each.host, each.port) for each in listeners if each.port]
    return len(set(fixed)) == len(fixed)
