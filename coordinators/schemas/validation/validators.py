"""Which schemas a topic takes, and what checks payloads by them: found once, and remembered while nothing changes.

That a schema is registered under a subject is looked up in the registry's memory, on the loop; reading its text and
making a validator of it takes longer and is done in threads. A schema never changes, so its validator is kept until
others push it out (`schema.validation.cache.size`); what is known of subjects is forgotten with every change of the
registry.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import NamedTuple

from attrs import define, field

from coordinators.schemas.errors import RegistryError
from coordinators.schemas.formats.format import InvalidPayload, ParsedSchema
from coordinators.schemas.names import DEFAULT_CONTEXT, split
from coordinators.schemas.parsing import SchemaSource, understood
from coordinators.schemas.references import resolved
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaRow
from coordinators.schemas.validation.framing import schema_named
from coordinators.schemas.validation.homes import SchemaHome, SchemaHomes, everybodys_home
from coordinators.schemas.validation.rules import PartRules

MOST_KNOWN = 10_000
"""Of facts about subjects; beyond that all are looked up anew."""
Complaint = Callable[[bytes], str | None]
"""Of a payload, what is wrong with it."""


class Compiled(NamedTuple):
    """A schema that was read."""

    parsed: ParsedSchema
    check: Callable[[bytes], None]


class NamedSchema(NamedTuple):
    """A registered schema that a framing can mean, and all that is needed to read it in any thread."""

    row: SchemaRow
    source: SchemaSource
    subjects: frozenset[str] | None
    """Those that it is registered under, where the one that is needed depends on what it says; else None."""
    topics: tuple[str, ...] = ()
    """What those subjects may call the topic."""


@define(eq=False)
class Validators:
    """See the module."""

    registry: Registry
    most: int = 1000
    home: SchemaHomes = everybodys_home
    """Where the schemas of a topic are."""
    _compiled: OrderedDict[tuple[str, int, str], Compiled] = field(factory=OrderedDict, init=False)
    _lock: Lock = field(factory=Lock, init=False)
    _known: dict[tuple[str, str, PartRules, bytes], NamedSchema | str] = field(factory=dict, init=False)
    _revision: int = field(default=-1, init=False)

    # -- on the loop

    def candidate(self, topic: str, rules: PartRules, framing: bytes) -> NamedSchema | str:
        """The schema that a framing names if the topic takes it; else why not."""
        if self._revision != self.registry.revision or len(self._known) > MOST_KNOWN:
            self._known.clear()
            self._revision = self.registry.revision
        home = self.home(topic)
        key = home.context, topic, rules, framing
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find(home, rules, framing)
        return found

    def latest(self, subject: str, topic: str = "") -> NamedSchema | None:
        """The newest schema of a subject that is meant for a topic."""
        whole = self.home(topic).subject(subject)
        row = None if whole is None else self.registry.latest(whole)
        return None if row is None else self.named(row)

    def named(self, row: SchemaRow) -> NamedSchema:
        """A schema, whichever subjects it has."""
        return NamedSchema(row, self._source(row), None)

    def is_ready(self, candidate: NamedSchema) -> bool:
        """Whether nothing has to be read for it any more."""
        return _place(candidate.row) in self._compiled

    def _find(self, home: SchemaHome, rules: PartRules, framing: bytes) -> NamedSchema | str:
        named = schema_named(framing)
        rows = list(self._rows(named, home))
        called = f"schema id {named}" if isinstance(named, int) else f"the schema of guid {named}"
        if not rows:
            return f"names {called}, which is not registered"
        if rules.needs_name:
            called_so = [home.called(split(name)) for row in rows for name in self.registry.names(row)]
            subjects = frozenset(name for name in called_so if name is not None)
            return NamedSchema(rows[0], self._source(rows[0]), subjects, home.topics)
        names = [rules.subject(topic, "") for topic in home.topics]
        for name in names:
            subject = home.subject(name)
            for row in rows:
                if subject is not None and self.registry.is_registered(subject, row.id):
                    return NamedSchema(row, self._source(row), None)
        return f"names {called}, which is not registered under the subject {names[0]}"

    def _rows(self, named: int | str, home: SchemaHome) -> Iterator[SchemaRow]:
        if isinstance(named, str):
            rows = self.registry.all_by_guid(named)
            yield from (row for row in rows if home.context in (DEFAULT_CONTEXT, row.context))
        elif (row := self.registry.by_id(named, home.context)) is not None:
            yield row

    def _source(self, row: SchemaRow) -> SchemaSource:
        return SchemaSource(row.type, row.text, resolved(self.registry, row.context, row.content.references))

    # -- in any thread

    def compiled(self, candidate: NamedSchema) -> Compiled | str:
        """[thread] The schema read and its validator made, unless that was done; else why it cannot be."""
        place = _place(candidate.row)
        with self._lock:
            found = self._compiled.get(place)
            if found is not None:
                self._compiled.move_to_end(place)
                return found
        try:
            parsed = understood(candidate.source)
            made = Compiled(parsed, parsed.validator())
        except RegistryError as error:
            return f"names schema id {candidate.row.id}, which cannot be read: {error}"
        with self._lock:
            self._compiled[place] = made
            while len(self._compiled) > self.most:
                self._compiled.popitem(last=False)
        return made

    def complaint(self, candidate: NamedSchema, rules: PartRules) -> Complaint:
        """[thread] What tells what is wrong with payloads, by a schema that was found for them."""
        compiled = self.compiled(candidate)
        if isinstance(compiled, str):
            return lambda _: compiled
        if candidate.subjects is None:
            return partial(fault, compiled, candidate)
        return partial(_complaint_by_name, compiled, candidate, rules)


def _complaint_by_name(compiled: Compiled, candidate: NamedSchema, rules: PartRules, payload: bytes) -> str | None:
    """[thread] Where the subject depends on what the schema calls the record."""
    try:
        record_name = compiled.parsed.name_of(payload)
    except InvalidPayload as error:
        return f"does not fit schema id {candidate.row.id}: {error}"
    wanted = [rules.subject(topic, record_name) for topic in candidate.topics]
    if candidate.subjects is not None and candidate.subjects.isdisjoint(wanted):
        return f"names schema id {candidate.row.id}, which is not registered under the subject {wanted[0]}"
    return fault(compiled, candidate, payload) if rules.is_full else None


def fault(compiled: Compiled, candidate: NamedSchema, payload: bytes) -> str | None:
    """[thread] What does not fit the schema."""
    try:
        compiled.check(payload)
    except InvalidPayload as error:
        return f"does not fit schema id {candidate.row.id}: {error}"
    return None


def _place(row: SchemaRow) -> tuple[str, int, str]:
    return row.context, row.id, row.guid
