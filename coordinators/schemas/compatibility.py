"""Levels of compatibility: which earlier versions a schema is held to, and in which direction."""

from collections.abc import Sequence
from enum import Enum

from attrs import frozen

from coordinators.schemas.errors import InvalidCompatibility
from coordinators.schemas.formats.format import ParsedSchema
from coordinators.schemas.parsing import Parsing, SchemaSource

MOST_MESSAGES = 100


class Level(Enum):
    """What Confluent's registry has; BACKWARD where nothing is said."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def reads_older(self) -> bool:
        """Whether the new schema must read what was written before."""
        return self.name.startswith(("BACKWARD", "FULL"))

    @property
    def is_read_by_older(self) -> bool:
        """Whether those from before must read what the new one writes."""
        return self.name.startswith(("FORWARD", "FULL"))

    @property
    def is_transitive(self) -> bool:
        """Whether all earlier versions count, not only the last."""
        return self.name.endswith("_TRANSITIVE")


LENIENT = "LENIENT"
"""The policy by which JSON Schemas may get properties though anything may have stood under their names."""
DEFAULT_LEVEL = Level.BACKWARD


def parse_level(text: object) -> Level:
    """The level of a name, in capitals or not; `InvalidCompatibility` if there is none."""
    try:
        return Level(text.upper()) if isinstance(text, str) else Level(text)
    except ValueError:
        names = ", ".join(level.value for level in Level)
        raise InvalidCompatibility(f"Invalid compatibility level {text!r}. Valid values are {names}") from None


@frozen(eq=False)
class Earlier:
    """A version that a new schema is compared with."""

    version: int
    source: SchemaSource


def incompatibilities(
    parsing: Parsing,
    level: Level,
    new: tuple[str, ParsedSchema],
    earlier: Sequence[Earlier],
    is_lenient: bool = False,
) -> list[str]:
    """[thread] Why the new schema, of a type, does not fit the versions, the newest of which are first."""
    if level is Level.NONE:
        return []
    for each in earlier:
        found = _between(parsing, level, new, each, is_lenient=is_lenient)
        if found:
            return found[:MOST_MESSAGES]
    return []


def _between(
    parsing: Parsing, level: Level, new: tuple[str, ParsedSchema], earlier: Earlier, *, is_lenient: bool
) -> list[str]:
    schema_type, parsed = new
    if schema_type != earlier.source.type:
        return [f"the schema is {schema_type}, and version {earlier.version} is {earlier.source.type}"]
    old, found = parsing.parsed(earlier.source), []
    if level.reads_older:
        told = f"cannot read what was written with version {earlier.version}"
        found += [f"{told}: {each}" for each in parsed.incompatibilities(old, lenient=is_lenient)]
    if level.is_read_by_older:
        told = f"version {earlier.version} could not read what is written with it"
        found += [f"{told}: {each}" for each in old.incompatibilities(parsed, lenient=is_lenient)]
    return found
