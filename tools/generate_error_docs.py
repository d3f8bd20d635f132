"""Writes docs/reference/errors.md from the tables of codes and statuses: `python -m tools.generate_error_docs`."""

import inspect
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from coordinators.schemas import errors as schema_errors
from engine.errors import BrokerError
from tools.doc_tables import table
from tools.error_advice import ADVICE, GRPC_OWN, HTTP_OWN, TEXT_OWN
from wire.grpc.status import STATUSES as GRPC_STATUSES
from wire.grpc.status import Status
from wire.http.problems import STATUSES as HTTP_STATUSES
from wire.kafka.errors import CODES, ErrorCode

T = TypeVar("T")
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "errors.md"

_INTRODUCTION = """\
# Errors

Written by `python -m tools.generate_error_docs` from the tables by which the doors tell of errors. The broker has
errors of its own; each door has a word for them, and [one table](#one-error-at-every-door) shows which are the same.

## Kafka

What Kafka's clients are told. "Retried" says whether they try again by themselves, as Kafka has it; how often each was
told is counted by `tidegate_errors_total` ([metrics](../operations/metrics.md)).
"""
_HTTP = """
## HTTP

Errors are problem documents (`application/problem+json`, RFC 9457); `detail` is a sentence, `error` the broker's own
name for it, where it has one.
"""
_GRPC = """
## gRPC

A call ends with a status and a sentence; the trailer `tidegate-error` has the broker's own name for it.
"""
_TEXT = """
## Text

`ERR <CODE> <sentence>`. What the broker refuses has Kafka's names, as above; these are the door's own.
"""
_REGISTRY = """
## Schema registry

`{"error_code": ..., "message": ...}`, as Confluent's has it; the first three digits are the status. What is not the
registry's own (rights, readiness, bodies) has the status alone.
"""
_SAME = """
## One error at every door

The broker's own name is what HTTP tells as `error`, gRPC as `tidegate-error`, and logs tell. A dash: that
door has no word of its own for it, and tells its most general one if it ever comes to that (`UNKNOWN_SERVER_ERROR`,
500, `INTERNAL`).
"""


def document() -> str:
    """The whole page."""
    lines = [_INTRODUCTION, *table(("code", "name", "when", "what to do", "retried"), _kafka())]
    lines += [_HTTP, *table(("status", "what it means, what to do", "the broker's errors"), _http())]
    lines += [_GRPC, *table(("status", "number", "what it means, what to do"), _grpc())]
    lines += [_TEXT, *table(("code", "what it means"), ((f"`{code}`", text) for code, text in TEXT_OWN.items()))]
    lines += [_REGISTRY, *table(("code", "name", "when"), _registry())]
    lines += [_SAME, *table(("error", "Kafka", "HTTP", "gRPC", "when"), _same())]
    return "\n".join([*lines, ""])


def _kafka() -> Iterator[tuple[str, ...]]:
    for code in sorted(ErrorCode):
        advice = ADVICE[code]
        kinds = [kind for kind, its in CODES.items() if its is code]
        when = advice.when or " Or: ".join(_meaning(kind) for kind in kinds)
        yield str(int(code)), f"`{code.name}`", when, advice.todo, "yes" if advice.retried else "no"


def _http() -> Iterator[tuple[str, ...]]:
    for status, text in HTTP_OWN.items():
        kinds = (f"`{kind.__name__}`" for kind, its in HTTP_STATUSES.items() if its == status)
        yield f"{status} {HTTPStatus(status).phrase}", text, ", ".join(kinds)


def _grpc() -> Iterator[tuple[str, ...]]:
    for status in Status:
        if status in GRPC_OWN:
            yield f"`{status.name}`", str(int(status)), GRPC_OWN[status]


def _registry() -> Iterator[tuple[str, ...]]:
    own = (each for _, each in inspect.getmembers(schema_errors, inspect.isclass))
    kinds = {each for each in own if issubclass(each, schema_errors.RegistryError)}
    for kind in sorted(kinds, key=lambda each: (str(each.code).ljust(5, "0"), each.__name__)):
        yield str(kind.code), f"`{kind.__name__}`", _meaning(kind)


def _same() -> Iterator[tuple[str, ...]]:
    kinds = dict.fromkeys((*CODES, *HTTP_STATUSES, *GRPC_STATUSES))
    for kind in sorted(kinds, key=lambda each: each.__name__):
        code, http, grpc = _found(kind, CODES), _found(kind, HTTP_STATUSES), _found(kind, GRPC_STATUSES)
        names = (f"`{code.name}`" if code else "-", str(int(http)) if http else "-", f"`{grpc.name}`" if grpc else "-")
        yield f"`{kind.__name__}`", *names, _meaning(kind)


def _found(kind: type[BrokerError], by_kind: Mapping[type[BrokerError], T]) -> T | None:
    """As the doors look it up: the class itself, or the nearest of its bases."""
    return next((by_kind[each] for each in kind.__mro__ if each in by_kind), None)


def _meaning(kind: type[BrokerError]) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
