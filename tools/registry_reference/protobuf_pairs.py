"""Pairs of Protobuf schemas, an older and a newer one, which differ in a change or two as people make them."""

from collections.abc import Callable, Iterator
from random import Random

from attrs import define, evolve, field, frozen

SCALARS = (
    "double",
    "float",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "fixed32",
    "fixed64",
    "sfixed32",
    "sfixed64",
    "bool",
    "string",
    "bytes",
)
MAPS = ("map<string, int32>", "map<string, N>", "map<int32, string>")
NAMED = ("N", "P", "E", "F", "M.Inner")
NUMBERS = range(1, 8)
ONEOFS = ("o", "p")


@frozen
class ProtoField:
    """A field of the message."""

    number: int
    name: str
    type: str
    label: str = ""
    oneof: str = ""


@frozen
class Message:
    """The message `M`, and what is around it."""

    syntax: str
    package: str
    fields: tuple[ProtoField, ...]
    has_inner: bool = True
    has_other: bool = True
    symbols: tuple[str, ...] = ("ZERO", "ONE", "TWO")

    def text(self) -> str:
        """As it is written in a file."""
        plain = [_line(each, self._label(each)) for each in self.fields if not each.oneof]
        for name in ONEOFS:
            members = " ".join(_line(each, "") for each in self.fields if each.oneof == name)
            plain += [f"oneof {name} {{ {members} }}"] if members else []
        inner = (
            "message Inner { int32 x = 1; }" if self.syntax == "proto3" else "message Inner { optional int32 x = 1; }"
        )
        body = "\n  ".join([*([inner] if self.has_inner else []), *plain])
        optional = "" if self.syntax == "proto3" else "optional "
        symbols = " ".join(f"{name} = {number};" for number, name in enumerate(self.symbols))
        other = f"message Other {{ {optional}string x = 1; }}\n" if self.has_other else ""
        return (
            f'syntax = "{self.syntax}";\npackage {self.package};\nmessage M {{\n  {body}\n}}\n'
            f"message N {{ {optional}int32 x = 1; }}\nmessage P {{ {optional}string x = 1; }}\n{other}"
            f"enum E {{ {symbols} }}\nenum F {{ F_ZERO = 0; }}\n"
        )

    def _label(self, each: ProtoField) -> str:
        if each.type in MAPS:
            return ""
        if self.syntax == "proto3":
            return "" if each.label == "required" else each.label
        return each.label or "optional"


def _line(each: ProtoField, label: str) -> str:
    return f"{label} {each.type} {each.name} = {each.number};".strip()


@define(eq=False)
class ProtobufPairs:
    """See the module."""

    random: Random
    _names: int = field(default=0, init=False)

    def pairs(self, count: int) -> Iterator[tuple[Message, Message]]:
        """So many, each in a package of its own."""
        for number in range(count):
            older = self._message(f"case_{number}")
            newer = older
            for _ in range(self.random.choice((1, 1, 1, 2))):
                newer = self._changed(newer)
            yield older, newer

    def _message(self, package: str) -> Message:
        syntax = self.random.choice(("proto3", "proto3", "proto2"))
        numbers = sorted(self.random.sample(NUMBERS, self.random.randrange(1, 5)))
        return Message(syntax, package, tuple(self._field(number, syntax) for number in numbers))

    def _field(self, number: int, syntax: str) -> ProtoField:
        kind = self.random.choice((*SCALARS, *MAPS, *NAMED[:4]))
        self._names += 1
        labels = (
            ("", "", "repeated", "optional", "required") if syntax == "proto2" else ("", "", "repeated", "optional")
        )
        label = "" if kind in MAPS else self.random.choice(labels)
        oneof = self.random.choice(ONEOFS) if self.random.random() < 0.3 else ""
        return _settled(ProtoField(number, f"f{self._names}", kind, label, oneof))

    def _changed(self, message: Message) -> Message:
        changes: list[Callable[[Message], Message]] = [
            self._add,
            self._remove,
            self._retype,
            self._relabel,
            self._move,
            self._rename,
            lambda message: evolve(message, has_inner=False),
            lambda message: evolve(message, has_other=False),
            lambda message: evolve(message, symbols=message.symbols[:-1] or ("ZERO",)),
            lambda message: evolve(message, symbols=(*message.symbols, f"S{len(message.symbols)}")),
            lambda message: evolve(message, package=f"{message.package}_other"),
        ]
        weights = (4, 4, 6, 4, 8, 1, 1, 1, 1, 1, 1)
        return self.random.choices(changes, weights)[0](message)

    def _add(self, message: Message) -> Message:
        free = [number for number in NUMBERS if number not in {each.number for each in message.fields}]
        return evolve(message, fields=(*message.fields, self._field(self.random.choice(free), message.syntax)))

    def _remove(self, message: Message) -> Message:
        gone = self.random.choice(message.fields) if message.fields else None
        return evolve(message, fields=tuple(each for each in message.fields if each is not gone))

    def _retype(self, message: Message) -> Message:
        return self._with(message, lambda each: evolve(each, type=self.random.choice((*SCALARS, *MAPS, *NAMED[:4]))))

    def _relabel(self, message: Message) -> Message:
        labels = ("", "repeated", "optional", *(("required",) if message.syntax == "proto2" else ()))
        return self._with(message, lambda each: evolve(each, label=self.random.choice(labels)))

    def _move(self, message: Message) -> Message:
        return self._with(message, lambda each: evolve(each, label="", oneof=self.random.choice(("", *ONEOFS))))

    def _rename(self, message: Message) -> Message:
        return self._with(message, lambda each: evolve(each, name=f"{each.name}x"))

    def _with(self, message: Message, change: Callable[[ProtoField], ProtoField]) -> Message:
        if not message.fields:
            return message
        chosen = self.random.choice(message.fields)
        return evolve(
            message, fields=tuple(_settled(change(each)) if each is chosen else each for each in message.fields)
        )


def _settled(each: ProtoField) -> ProtoField:
    """As it can be written: maps have no label, nor are they in oneofs; what is in a oneof has no label."""
    if each.type in MAPS:
        return evolve(each, label="", oneof="")
    return evolve(each, label="") if each.oneof else each
