"""Values made rows of a column, by the schemas that they name. Runs on Spark's executors."""

from typing import Any

from tools.pipelines.typed.columns import column_of
from tools.pipelines.typed.framing import apart
from tools.pipelines.typed.registry import Told
from tools.pipelines.typed.types import FROM_TEXT, ColumnType, fitted

MOST_NUMBERS_BYTES = 64
"""Of a Protobuf payload, as many as tell which message it is, and more."""


class Decoding:
    """Schemas by the framings that name them. Sent to executors, where each is understood when it is first needed."""

    def __init__(self, told: dict[bytes, Told]) -> None:
        self._told = told
        self._understood: dict[bytes, Any] = {}

    def __reduce__(self) -> Any:
        return Decoding, (self._told,)

    def value(self, value: bytes | None, header: bytes | None, kind: ColumnType) -> Any:
        """What goes into a column of this type; None for what cannot be decoded."""
        from coordinators.schemas.formats.format import InvalidPayload

        if value is None:
            return None
        framing, payload = apart(bytes(value), header and bytes(header))
        if framing not in self._told:
            return None
        of = self._told[framing]["schemaType"]
        try:
            schema = self._schema(framing)
            whole = schema.to_json(payload, is_whole=True) if of == "PROTOBUF" else schema.to_json(payload)
        except InvalidPayload:
            return None
        return fitted(whole, kind, FROM_TEXT[of])

    def column(self, framing: bytes, payload: bytes) -> ColumnType | None:
        """The type of the column that a schema asks for; None if the payload is none of its messages."""
        from coordinators.schemas.formats.format import InvalidPayload

        try:
            return column_of(self._told[framing]["schemaType"], self._schema(framing), payload)
        except InvalidPayload:
            return None

    def numbers(self, value: bytes, header: bytes | None) -> bytes | None:
        """Framing and numbers of a value with a Protobuf schema: which message it is."""
        from coordinators.schemas.formats.format import InvalidPayload
        from coordinators.schemas.formats.protobuf.schema import read_numbers

        framing, payload = apart(bytes(value), header and bytes(header))
        if self._told.get(framing, {}).get("schemaType") != "PROTOBUF":
            return None
        try:
            _, end = read_numbers(payload[:MOST_NUMBERS_BYTES])
        except InvalidPayload:
            return None
        return framing + payload[:end]

    def _schema(self, framing: bytes) -> Any:
        found = self._understood.get(framing)
        if found is None:
            found = self._understood[framing] = understood(self._told[framing])
        return found


def understood(told: Told) -> Any:
    """A schema as the registry told it, with all that it refers to; raises `InvalidSchema`."""
    from coordinators.schemas import formats

    return formats.by_name(told["schemaType"]).parse(told["schema"], _references(told))


def _references(told: Told) -> Any:
    from coordinators.schemas.formats.format import ResolvedReference

    return tuple(
        ResolvedReference(each["name"], each["subject"], each["version"], each["schema"], _references(each))
        for each in told["references"]
    )
