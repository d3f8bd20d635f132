"""What subjects and contexts are called.

A context is a registry of its own: its ids begin at 1. A subject of context `.shop` is called `:.shop:orders-value`;
without that it is in the default context, whose name is a dot. A name that ends with the context, `:.shop:`, stands
for the context itself where levels and modes are set.
"""

from attrs import frozen

from coordinators.schemas.errors import InvalidSubject

DEFAULT_CONTEXT = "."
ALL_CONTEXTS = "*"
NAME_LENGTH_MAX = 1024
RESERVED = ("__GLOBAL", "__EMPTY")
"""What Confluent's clients say for everything and for nothing."""


@frozen
class Subject:
    """A subject by its context and its own name; an empty name stands for the whole context."""

    context: str
    name: str

    def __str__(self) -> str:
        return self.name if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.name}"

    @property
    def scope(self) -> "Subject":
        """The context as a scope."""
        return Subject(self.context, "")


GLOBAL = Subject(DEFAULT_CONTEXT, "")
"""The scope that holds where no other does."""


def split(text: str, context: str = DEFAULT_CONTEXT) -> Subject:
    """A subject's name taken apart; one that names no context is in the given one."""
    if text.startswith(":."):
        found, colon, name = text[1:].partition(":")
        if colon:
            return Subject(found, name)
    return Subject(context, text)


def checked(text: str, context: str = DEFAULT_CONTEXT) -> Subject:
    """The same; `InvalidSubject` for what no subject can be called."""
    subject = split(text, context)
    if not subject.name.strip() or subject.name in RESERVED or not _is_printable(subject.name):
        raise InvalidSubject(f"The specified subject '{text}' is not a valid subject.")
    if len(subject.name) > NAME_LENGTH_MAX:
        raise InvalidSubject(f"A subject's name has at most {NAME_LENGTH_MAX} characters, this has {len(subject.name)}")
    checked_context(subject.context)
    return subject


def checked_context(text: str) -> str:
    """A context as a path names it, `.shop`, `:.shop:` or `shop`; `InvalidSubject` for what none is called."""
    context = text.removeprefix(":").removesuffix(":")
    if not context.startswith("."):
        context = "." + context
    if ":" in context or "/" in context or len(context) > NAME_LENGTH_MAX or not _is_printable(context):
        raise InvalidSubject(f"The specified context '{text}' is not a valid context.")
    return context


def tenant_context(tenant: str) -> str:
    """The context in which a tenant's schemas are: to its callers it is the only one."""
    return f".{tenant}"


def _is_printable(text: str) -> bool:
    return not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text)
