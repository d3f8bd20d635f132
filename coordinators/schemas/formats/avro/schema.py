"""Avro: the kind of schema most topics have."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from coordinators.schemas.formats.avro.compatibility import AvroComparison
from coordinators.schemas.formats.avro.decoding import decoder
from coordinators.schemas.formats.avro.json_encoding import encoder
from coordinators.schemas.formats.avro.parsing import AvroReading
from coordinators.schemas.formats.avro.printing import printed
from coordinators.schemas.formats.avro.safety import is_bounded
from coordinators.schemas.formats.avro.stepping import stepper
from coordinators.schemas.formats.avro.types import AvroType, NamedType
from coordinators.schemas.formats.format import InvalidSchema, ResolvedReference, in_order
from coordinators.schemas.formats.json_text import print_json, read_json


class AvroSchema:
    """A schema of Avro that was understood."""

    def __init__(self, avro_type: AvroType, lent: Collection[str]) -> None:
        self.type = avro_type
        self._lent = lent
        """Full names of types that references define."""

    @cached_property
    def canonical(self) -> str:
        """Without white space, keys in Avro's order; documentation, aliases, defaults and unknown properties stay."""
        return print_json(printed(self.type, self._lent, normalized=False))

    @cached_property
    def normalized(self) -> str:
        """The same with unknown properties in the order of their names."""
        return print_json(printed(self.type, self._lent, normalized=True))

    def formatted(self, name: str) -> str | None:
        """`resolved` has the types of references written out where they are first used."""
        return print_json(printed(self.type, (), normalized=False)) if name == "resolved" else None

    def name_of(self, payload: bytes) -> str:  # noqa: ARG002
        """The full name of the type, by which subjects can be called."""
        return self.type.name.full if isinstance(self.type, NamedType) else self.type.kind

    def incompatibilities(self, writer: "AvroSchema", *, lenient: bool = False) -> list[str]:  # noqa: ARG002
        """What a reader with this schema could not read of the writer's."""
        return AvroComparison().incompatibilities(self.type, writer.type)

    def validator(self) -> Callable[[bytes], None]:
        """By stepping over the payload where that is safe; what looks odd is read, to say what is wrong."""
        return _validator(self.type, self._decode)

    def to_json(self, payload: bytes) -> Any:
        """The payload for people; logical types as they are written, unions without the names of their branches."""
        return self._decode(payload)

    def to_exact_json(self, payload: bytes) -> Any:
        """The payload as Avro's specification has it in JSON."""
        return self._decode_exactly(payload)

    def from_json(self, value: Any) -> bytes:
        """A payload of what its specification has in JSON; raises `InvalidPayload`."""
        return self._encode(value)

    def from_shown(self, value: Any) -> bytes:
        """The same, of what `to_json` gives too; raises `InvalidPayload`."""
        return self._encode_shown(value)

    @cached_property
    def _decode_exactly(self) -> Callable[[bytes], Any]:
        return decoder(self.type, is_exact=True)

    @cached_property
    def _encode_shown(self) -> Callable[[Any], bytes]:
        return encoder(self.type, takes_shown=True)

    @cached_property
    def _encode(self) -> Callable[[Any], bytes]:
        return encoder(self.type)

    @cached_property
    def _decode(self) -> Callable[[bytes], Any]:
        return decoder(self.type)


class AvroFormat:
    """See the module."""

    def parse(self, text: str, references: Sequence[ResolvedReference] = ()) -> AvroSchema:
        """Understand the text, with the types that references lend; raises `InvalidSchema`."""
        try:
            known: dict[str, NamedType] = {}
            for reference in in_order(references):
                _read(reference.text, known)
            lent = set(known)
            return AvroSchema(_read(text, known), lent)
        except RecursionError:
            raise InvalidSchema("nested too deeply") from None


FORMAT = AvroFormat()


def _read(text: str, known: dict[str, NamedType]) -> AvroType:
    return AvroReading(known).read(read_json(text))


def _validator(avro_type: AvroType, decode: Callable[[bytes], Any]) -> Callable[[bytes], None]:
    if not is_bounded(avro_type):
        return _checking(decode)
    is_sound = stepper(avro_type)

    def check(payload: bytes) -> None:
        if not is_sound(payload):
            decode(payload)

    return check


def _checking(decode: Callable[[bytes], Any]) -> Callable[[bytes], None]:
    def check(payload: bytes) -> None:
        decode(payload)

    return check
