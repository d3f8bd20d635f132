"""What a handler is given of a request: where it is about, what is asked, and in which context."""

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from attrs import define

from coordinators.schemas.errors import InvalidSubject, InvalidVersion, SubjectNotFound
from coordinators.schemas.names import DEFAULT_CONTEXT, Subject, checked, split, tenant_context
from engine.errors import BrokerError
from wire.http.messages import Call
from wire.inner.namespaces import Names

INT32_MAX = 2**31 - 1
LATEST = "latest"
ALL = ":*:"
"""Before the beginning of a subject's name: in all contexts."""


def home_of(names: Names) -> str:
    """The context of whoever knows things by these names."""
    return DEFAULT_CONTEXT if names.tenant is None else tenant_context(names.tenant)


def told_at(home: str, error: BrokerError) -> BrokerError:
    """An error in the words of whoever has this context alone."""
    if home != DEFAULT_CONTEXT:
        error.args = (str(error).replace(f":{home}:", ""),)
    return error


def _itself(subject: Subject) -> Subject:
    return subject


@define
class RegistryCall(Call):
    """A call that was found right."""

    context: str = DEFAULT_CONTEXT
    """That which the path names; a tenant's caller is in its own."""
    resolve: Callable[[Subject], Subject] = _itself
    """The subject that an alias stands for."""
    home: str = DEFAULT_CONTEXT
    """The context of which names say nothing: a tenant's caller knows no other one."""

    def __attrs_post_init__(self) -> None:
        if self.home != DEFAULT_CONTEXT and self.context == DEFAULT_CONTEXT:
            self.context = self.home

    @property
    def is_bound(self) -> bool:
        """Whether there is but one context for the caller."""
        return self.home != DEFAULT_CONTEXT

    def stay_home(self) -> None:
        """Refuse what names a context, of whoever has but one."""
        if not self.is_bound:
            return
        said = (
            getattr(self.place, "subject", ""),
            getattr(self.query, "subject", ""),
            getattr(self.query, "subject_prefix", "").removeprefix(ALL),
            getattr(self.body, "alias", ""),
            *(each.subject for each in getattr(self.body, "references", None) or ()),
        )
        named = next((text for text in said if isinstance(text, str) and text.startswith(":")), None)
        if named is not None or self.context != self.home:
            raise InvalidSubject(f"'{named or self.context}' names a context: there is only one here")

    def told(self, subject: Subject) -> str:
        """A subject as the caller knows it."""
        return subject.name if self.is_bound and subject.context == self.home else str(subject)

    def may_know(self, context: str) -> bool:
        """Whether there is this context, for the caller."""
        return not self.is_bound or context == self.home

    @property
    def subject(self) -> Subject:
        """The subject of the path, or what it is an alias of; `InvalidSubject` for what none is called."""
        found = self.resolve(self.named)
        if not self.may_know(found.context):
            raise SubjectNotFound(self.place.subject)
        return found

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
