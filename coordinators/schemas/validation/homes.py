"""Where the schemas of a topic's records are: in which context, and what subjects there call the topic.

A tenant's are in the context that is named after it, whatever its records name. Its clients may say their names with
the prefix or without: subjects are called after either.
"""

from collections.abc import Callable

from attrs import frozen

from coordinators.schemas.names import DEFAULT_CONTEXT, Subject, tenant_context
from coordinators.tenants.tenants import Tenants


@frozen
class SchemaHome:
    """Of one topic."""

    context: str
    topics: tuple[str, ...]
    """What the subjects may call it; the first is what is told."""

    def called(self, subject: Subject) -> str | None:
        """A subject's name as it is looked for here; None for one that is not found from here."""
        if self.context == DEFAULT_CONTEXT:
            return str(subject)
        return subject.name if subject.context == self.context else None

    def subject(self, name: str) -> str | None:
        """The whole name of a subject that is meant here; None for one that cannot be."""
        if self.context == DEFAULT_CONTEXT:
            return name
        return None if name.startswith(":") else str(Subject(self.context, name))


SchemaHomes = Callable[[str], SchemaHome]


def everybodys_home(topic: str) -> SchemaHome:
    """Of a topic that is no tenant's."""
    return SchemaHome(DEFAULT_CONTEXT, (topic,))


def tenants_homes(tenants: Tenants) -> SchemaHomes:
    """By whose topic it is."""

    def home(topic: str) -> SchemaHome:
        owner = tenants.owner(topic)
        if owner is None:
            return everybodys_home(topic)
        return SchemaHome(tenant_context(owner.name), (topic.removeprefix(owner.prefix), topic))

    return home
