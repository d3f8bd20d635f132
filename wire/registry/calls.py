"""What a handler is given of a request: where it is about, what is asked, and in which context."""

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from attrs import define

from coordinators.schemas.errors import InvalidVersion
from coordinators.schemas.names import DEFAULT_CONTEXT, Subject, checked, split
from wire.http.messages import Call

INT32_MAX = 2**31 - 1
LATEST = "latest"


def _itself(subject: Subject) -> Subject:
    return subject


@define
class RegistryCall(Call):
    """A call that was found right."""

    context: str = DEFAULT_CONTEXT
    """That which the path names."""
    resolve: Callable[[Subject], Subject] = _itself
    """The subject that an alias stands for."""

    @property
    def subject(self) -> Subject:
        """The subject of the path, or what it is an alias of; `InvalidSubject` for what none is called."""
        return self.resolve(self.named)

    @property
    def named(self) -> Subject:
        """What the path says."""
        return checked(self.place.subject, self.context)

    @property
    def scope(self) -> Subject:
        """The subject of the path as it is named, or the context (`:.ctx:`): what has a level and a mode."""
        found = split(self.place.subject, self.context)
        return found if not found.name and found.context != DEFAULT_CONTEXT else self.named

    @property
    def version(self) -> int | None:
        """The version of the path; None is the latest."""
        return parsed_version(self.place.version)


def parsed_version(text: str) -> int | None:
    """A version as paths name it; None is the latest, `InvalidVersion` what is none."""
    if text in (LATEST, "-1"):
        return None
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 11 else 0
    if not 0 < number <= INT32_MAX:
        raise InvalidVersion(
            f"The specified version '{text}' is not a valid version id. Allowed values are between [1, 2^31-1] and "
            'the string "latest"'
        )
    return number


class SubjectPlace(msgspec.Struct):
    """A subject."""

    subject: str


class VersionPlace(SubjectPlace):
    """A version of a subject: a number, `latest` or -1."""

    version: str


class IdPlace(msgspec.Struct):
    """A schema by its id."""

    id: str


class GuidPlace(msgspec.Struct):
    """A schema by its guid."""

    guid: str


PageNumber = Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)]


class FormatQuery(msgspec.Struct, kw_only=True):
    """`format` asks for a schema in another form: `resolved` (Avro), `serialized` (Protobuf); others change nothing."""

    format: str = ""


class NoQuery(msgspec.Struct):
    """Nothing is asked for; whatever is said is passed over."""


class Paged(msgspec.Struct, kw_only=True):
    """A part of a list; a limit of -1 or 0 is all of it."""

    offset: PageNumber = 0
    limit: PageNumber = -1

    def of(self, items: list[Any]) -> list[Any]:
        """That part."""
        start = max(self.offset, 0)
        return items[start : start + self.limit] if self.limit > 0 else items[start:]


def with_booleans(fields: dict[str, str], wanted: type[msgspec.Struct]) -> dict[str, str | bool]:
    """Booleans are true in any case, `True` as Python's clients write it too; whatever else is said is false."""
    booleans = _booleans(wanted)
    return {name: value.strip().lower() == "true" if name in booleans else value for name, value in fields.items()}


@lru_cache(maxsize=64)
def _booleans(wanted: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(each.encode_name for each in msgspec.structs.fields(wanted) if each.type is bool)
