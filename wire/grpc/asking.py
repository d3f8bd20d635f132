"""What the Admin methods have in common: one question in the caller's name, and an answer that says what went wrong."""

from collections.abc import Iterable
from typing import Any, Final

from engine.errors import BrokerError
from wire.kafka.errors import broker_error, code_name

DOOR: Final = "grpc"


def only(entries: Iterable[Any]) -> Any:
    """The one entry of an answer about one thing; answers may make theirs when they are looked at."""
    (entry,) = entries
    return entry


def check(entry: Any, what: str) -> None:
    """Raise what an entry of an answer was refused with."""
    code: int = entry.error_code
    if code:
        raise refused(code, getattr(entry, "error_message", None), what)


def refused(code: int, message: str | None, what: str) -> BrokerError:
    """An error code as an error; `what` is what it is about, where the answer has no words."""
    return broker_error(code, message or f"{what}: {code_name(code)}")
