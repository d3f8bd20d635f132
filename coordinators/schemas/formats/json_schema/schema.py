"""JSON Schema, in the drafts 4, 6, 7, 2019-09 and 2020-12; a schema that names none is taken for one of draft 7."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jsonschema_rs
import msgspec
from stringzilla import count

from coordinators.schemas.formats.format import InvalidPayload, InvalidSchema, ResolvedReference
from coordinators.schemas.formats.json_schema.compatibility import JsonComparison
from coordinators.schemas.formats.json_schema.documents import JsonDocuments
from coordinators.schemas.formats.json_schema.effort import check_effort
from coordinators.schemas.formats.json_schema.looks import MOST_LOOKS, Looks, depth_and_count
from coordinators.schemas.formats.json_schema.patterns import check_patterns
from coordinators.schemas.formats.json_text import is_deeper, print_json

DRAFTS = {
    "": "7",
    "http://json-schema.org/draft-04/schema": "4",
    "http://json-schema.org/draft-06/schema": "6",
    "http://json-schema.org/draft-07/schema": "7",
    "https://json-schema.org/draft-07/schema": "7",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
}
_VALIDATORS: dict[str, tuple[type[jsonschema_rs.Validator], int]] = {
    "4": (jsonschema_rs.Draft4Validator, jsonschema_rs.Draft4),
    "6": (jsonschema_rs.Draft6Validator, jsonschema_rs.Draft6),
    "7": (jsonschema_rs.Draft7Validator, jsonschema_rs.Draft7),
    "2019-09": (jsonschema_rs.Draft201909Validator, jsonschema_rs.Draft201909),
    "2020-12": (jsonschema_rs.Draft202012Validator, jsonschema_rs.Draft202012),
}
# Expressions run in time that is linear in the text; but for those that look around, which get few steps back.
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=200, size_limit=1 << 20, dfa_size_limit=1 << 20)
MOST_DATA_LEVELS = 200
LONGEST_REASON = 300
MOST_TOLD = 300
"""Looks at one value of which a reason is made."""


class JsonSchema:
    """A JSON Schema that was understood."""

    def __init__(self, documents: JsonDocuments) -> None:
        self.documents = documents
        self._validator = _compiled(documents)

    @cached_property
    def canonical(self) -> str:
        """As it was sent, without white space."""
        return print_json(self.documents.root)

    @cached_property
    def normalized(self) -> str:
        """With keys in the order of their names."""
        return print_json(self.documents.root, sort_keys=True)

    def formatted(self, name: str) -> str | None:  # noqa: ARG002
        """There is no other form."""
        return None

    def name_of(self, payload: bytes) -> str:  # noqa: ARG002
        """The title, by which subjects can be called."""
        root = self.documents.root
        title = root.get("title") if isinstance(root, dict) else None
        return title if isinstance(title, str) else ""

    def incompatibilities(self, writer: "JsonSchema", *, lenient: bool = False) -> list[str]:
        """What a reader with this schema would not take of the writer's."""
        return JsonComparison(self.documents, writer.documents, lenient).incompatibilities()

    def validator(self) -> Callable[[bytes], None]:
        """What reads JSON and holds it against the schema."""
        validate, is_valid = self._validator.validate, self._validator.is_valid
        looks = Looks(self.documents).by_depth(MOST_DATA_LEVELS)

        def check(payload: bytes) -> None:
            value = read_payload(payload)
            is_told = _check_looks(looks, payload, value)
            try:
                if is_told:
                    validate(value)
                elif not is_valid(value):
                    raise InvalidPayload("none of the schema's many alternatives takes it")
            except jsonschema_rs.ValidationError as error:
                raise InvalidPayload(_short(error.message), _path(error.instance_path)) from None

        return check

    def from_json(self, value: Any) -> bytes:
        """The value as a payload, if the schema takes it; raises `InvalidPayload`."""
        payload = msgspec.json.encode(value)
        self._check(payload)
        return payload

    @cached_property
    def _check(self) -> Callable[[bytes], None]:
        return self.validator()

    def to_exact_json(self, payload: bytes) -> Any:
        """The payload is JSON."""
        return read_payload(payload)

    def to_json(self, payload: bytes) -> Any:
        """The payload is JSON."""
        return read_payload(payload)


class JsonFormat:
    """See the module."""

    def parse(self, text: str, references: Sequence[ResolvedReference] = ()) -> JsonSchema:
        """Understand the text; raises `InvalidSchema`."""
        try:
            documents = JsonDocuments.read(text, references, DRAFTS)
            # Before it is compiled: what does that does nothing else meanwhile.
            check_effort(documents)
            check_patterns(documents)
            schema = JsonSchema(documents)
        except RecursionError:
            raise InvalidSchema("nested too deeply") from None
        return schema


FORMAT = JsonFormat()


def read_payload(payload: bytes) -> Any:
    """JSON from strangers; raises `InvalidPayload`."""
    try:
        value = msgspec.json.decode(payload)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidPayload(f"not JSON: {error}") from None
    # Hardly any payload has so many brackets that their depth could matter.
    has_many = count(payload, b"{") + count(payload, b"[") > MOST_DATA_LEVELS
    if has_many and is_deeper(value, MOST_DATA_LEVELS):
        raise _too_deep()
    return value


def _check_looks(looks: list[int], payload: bytes, value: Any) -> bool:
    """Refuse what would take too long; `looks` are those at one value, by its depth. Whether a reason can be told: it
    is made of those of all alternatives."""
    if len(looks) > MOST_DATA_LEVELS and looks[-1] * len(payload) <= MOST_LOOKS and looks[-1] <= MOST_TOLD:
        return True
    depth, count = depth_and_count(value)
    if depth >= len(looks) or looks[depth] * count > MOST_LOOKS:
        raise InvalidPayload(
            f"{count} values on {depth} levels, which the schema looks at more than {MOST_LOOKS} times"
        )
    return looks[depth] <= MOST_TOLD


def _too_deep() -> InvalidPayload:
    return InvalidPayload(f"nested more than {MOST_DATA_LEVELS} levels deep")


def _compiled(documents: JsonDocuments) -> jsonschema_rs.Validator:
    validator, draft = _VALIDATORS[documents.draft]
    try:
        registry = jsonschema_rs.Registry(documents.resources.items(), draft=draft)
        return validator(documents.root, registry=registry, pattern_options=_PATTERNS, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = getattr(error, "message", str(error))
        where = _path(getattr(error, "instance_path", []))
        raise InvalidSchema(f"{_short(reason)}{f', at {where}' if where else ''}") from None


def _path(parts: list[str | int]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _short(reason: str) -> str:
    if len(reason) <= LONGEST_REASON:
        return reason
    half = LONGEST_REASON // 2
    return f"{reason[:half]} ... {reason[-half:]}"
