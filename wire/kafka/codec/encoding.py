"""Generates the function that writes one message of one version.

Consecutive values of fixed size are one `pack`, into which the one-byte length that follows and the empty tag
section go too. Fields that the version does not have are not looked at. A null in a version that cannot say
null is written as empty, so that a handler builds one answer for all versions.

In steps, the same statements are a generator: every `ELEMENTS_PER_STEP` elements it puts what is written into the parts
and yields its size.
"""

import struct
from typing import Any

from attrs import define, field

from wire.kafka.codec.primitives import (
    ELEMENTS_PER_STEP,
    ONE_BYTE_VARINTS,
    EncodeError,
    finish,
    regions_size,
    shortened,
    uvarint,
)
from wire.kafka.codec.schema import FieldSchema, StructSchema
from wire.kafka.codec.source import Source


@define
class PackRun:
    """Values of fixed size that are written together; a zero byte has the format `x` and no expression."""

    formats: list[str] = field(factory=list)
    expressions: list[str] = field(factory=list)
    paths: list[str] = field(factory=list)


@define
class EncoderGenerator:
    """Writes the statements for one message; `append` names the bound method that takes the pieces."""

    source: Source
    run: PackRun = field(factory=PackRun)
    append: str = "a"
    in_steps: bool = False
    signature: str = "encode(m)"

    def generate(self, schema: StructSchema) -> None:
        source = self.source
        with source.block(f"def {self.signature}:"):
            with source.block("try:"):
                source.add("parts = []")
                source.add("pieces = []")
                source.add("a = pieces.append")
                if self.in_steps:
                    source.add(f"step = {ELEMENTS_PER_STEP}")
                    source.add("if False: yield 0  # a generator without arrays, too")
                self.struct(schema, "m")
                self.flush()
                source.add("return finish(pieces, parts)")
            with source.block("except FAILURES as error:"):
                source.add("raise explain(error) from error")

    def put_off(self, format_: str, expression: str = "") -> None:
        self.run.formats.append(format_)
        self.run.paths.append(self.source.path)
        if expression:
            self.run.expressions.append(expression)

    def packed(self, run: PackRun) -> str:
        """The expression of the bytes of a run."""
        if set(run.formats) == {"x"}:
            return repr(bytes(len(run.formats)))
        pack = self.source.struct("".join(run.formats), "pack")
        return f"{pack}({', '.join(run.expressions)})"

    def flush(self) -> None:
        """Writes the values that were put off."""
        run, self.run = self.run, PackRun()
        if run.formats:
            self.append_run(run)

    def append_run(self, run: PackRun) -> None:
        self.source.add_span(f"{self.append}({self.packed(run)})", run.paths)

    def flush_with_varint(self, name: str) -> None:
        """Writes what was put off and a varint, in one `pack` where the varint is one byte."""
        source, run = self.source, self.run
        self.run = PackRun()
        if not run.formats:
            source.add(f"{self.append}(ONE_BYTE_VARINTS[{name}] if {name} < 128 else uvarint({name}))")
            return
        with source.block(f"if {name} < 128:"):
            self.append_run(PackRun([*run.formats, "B"], [*run.expressions, name], run.paths))
        with source.block("else:"):
            self.append_run(run)
            source.add(f"{self.append}(uvarint({name}))")

    def struct(self, schema: StructSchema, owner: str) -> None:
        for member in schema.untagged:
            with self.source.at(member.name):
                self.value(member, f"{owner}.{member.name}", schema.flexible)
        if schema.flexible:
            with self.source.at("tags"):
                self.tags(schema, owner)

    def value(self, member: FieldSchema, expression: str, flexible: bool) -> None:
        if member.is_array:
            self.array(member, expression, flexible)
        elif member.fixed_format is not None:
            self.put_off(member.fixed_format, expression)
        elif member.struct is not None:
            self.nested(member, member.struct, expression)
        elif member.type == "records":
            self.records(member, expression, flexible)
        else:
            self.sized(member, expression, flexible)

    def nested(self, member: FieldSchema, schema: StructSchema, expression: str) -> None:
        source, name = self.source, self.source.fresh("m")
        source.add(f"{name} = {expression}")
        if not member.nullable:
            self.struct(schema, name)
            return
        self.flush()
        with source.block(f"if {name} is None:"):
            source.add(f"{self.append}({bytes([255])!r})")
        with source.block("else:"):
            source.add(f"{self.append}({bytes([1])!r})")
            self.struct(schema, name)
            self.flush()

    def length(self, name: str, format_: str, flexible: bool) -> None:
        if flexible:
            self.flush_with_varint(name)
        else:
            self.put_off(format_, name)
            self.flush()

    def sized(self, member: FieldSchema, expression: str, flexible: bool) -> None:
        """Writes a string or bytes."""
        source = self.source
        value, size, encoded = source.fresh("v"), source.fresh("n"), source.fresh("e")
        more = " + 1" if flexible else ""
        source.add(f"{value} = {expression}")
        with source.block(f"if {value} is None:"):
            source.add(f'{encoded} = b""')
            null = "0" if flexible else "-1"
            source.add(f"{size} = {null if member.nullable else '0' + more}")
        with source.block("else:"):
            source.add(f"{encoded} = {_encoded(member, value)}")
            source.add(f"{size} = len({encoded}){more}")
        self.length(size, "h" if member.type == "string" else "i", flexible)
        source.add(f"{self.append}({encoded})")

    def records(self, member: FieldSchema, expression: str, flexible: bool) -> None:
        """Writes the size of records, and bytes; a region goes unread into the parts after what is written."""
        source, value, size = self.source, self.source.fresh("v"), self.source.fresh("n")
        more = " + 1" if flexible else ""
        null = ("0" if flexible else "-1") if member.nullable else "0" + more
        source.add(f"{value} = {expression}")
        source.add(f"kind = type({value})")
        with source.block(f"if {value} is None:"):
            source.add(f"{size} = {null}")
        with source.block("elif kind in BYTES_LIKE:"):
            source.add(f"{size} = len({value}){more}")
        with source.block("elif kind is list or kind is tuple:"):
            source.add(f"{size} = regions_size({value}){more}")
        with source.block("else:"):
            source.add(f"{size} = {value}.size{more}")
        self.length(size, "i", flexible)
        with source.block("if kind in BYTES_LIKE:"):
            source.add(f"a({value})")
        with source.block(f"elif {size} > {1 if flexible else 0}:"):
            source.add('parts.append(b"".join(pieces))')
            source.add("pieces.clear()")
            splice = f"parts.extend({value}) if kind is list or kind is tuple else parts.append({value})"
            source.add(splice)

    def array(self, member: FieldSchema, expression: str, flexible: bool) -> None:
        source, value, count = self.source, self.source.fresh("v"), self.source.fresh("n")
        more = " + 1" if flexible else ""
        null = ("0" if flexible else "-1") if member.nullable else "0" + more
        source.add(f"{value} = {expression}")
        source.add(f"{count} = {null} if {value} is None else len({value}){more}")
        self.length(count, "i", flexible)
        with source.block(f"if {value}:"):
            self.elements(member, value, flexible)

    def elements(self, member: FieldSchema, value: str, flexible: bool) -> None:
        source = self.source
        single = FieldSchema(member.name, member.type, False, False, None, None, member.struct)
        if single.fixed_format is not None and len(single.fixed_format) == 1:
            source.add(f'{self.append}(pack(f">{{len({value})}}{single.fixed_format}", *{value}))')
            return
        element = source.fresh("m")
        with source.block(f"for {element} in {value}:"), source.at("[]"):
            if self.in_steps and self.append == "a":
                self.pause()
            if single.struct is not None:
                self.struct(single.struct, element)
            else:
                self.value(single, element, flexible)
            self.flush()

    def pause(self) -> None:
        """Lets whoever drives the generator look at the clock, and at how much there is, now and then."""
        source = self.source
        source.add("step -= 1")
        with source.block("if not step:"):
            source.add(f"step = {ELEMENTS_PER_STEP}")
            source.add('parts.append(b"".join(pieces))')
            source.add("pieces.clear()")
            source.add("yield len(parts[-1])")

    def tags(self, schema: StructSchema, owner: str) -> None:
        """Writes the tag section: one zero byte where every tagged field has its default."""
        source = self.source
        if not schema.tagged:
            self.put_off("x")
            return
        run, self.run = self.run, PackRun()
        defaults = " and ".join(self.is_default(member, owner) for member in schema.tagged)
        with source.block(f"if {defaults}:"):
            self.append_run(PackRun([*run.formats, "x"], run.expressions, [*run.paths, source.path]))
        with source.block("else:"):
            if run.formats:
                self.append_run(run)
            self.tag_section(schema, owner)

    def tag_section(self, schema: StructSchema, owner: str) -> None:
        source, section, outer = self.source, self.source.fresh("s"), self.append
        source.add(f"{section} = []")
        for member in schema.tagged:
            with source.block(f"if not ({self.is_default(member, owner)}):"), source.at(member.name):
                pieces, content = source.fresh("w"), source.fresh("c")
                self.append = f"{pieces}.append"
                source.add(f"{pieces} = []")
                self.value(member, f"{owner}.{member.name}", flexible=True)
                self.flush()
                source.add(f'{content} = b"".join({pieces})')
                source.add(f"{section}.append(uvarint({member.tag}) + uvarint(len({content})) + {content})")
        self.append = outer
        source.add(f"{outer}(uvarint(len({section})))")
        source.add(f'{outer}(b"".join({section}))')

    def is_default(self, member: FieldSchema, owner: str) -> str:
        value = f"{owner}.{member.name}"
        if member.default is None:
            return f"{value} is None"
        if member.default == [] or member.default is False:
            return f"not {value}"
        return f"{value} == {member.default!r}"


def _encoded(member: FieldSchema, value: str) -> str:
    """The expression of a text's or bytes' bytes."""
    if member.type != "string":
        return value
    return f"shortened({value})" if member.name.endswith("error_message") else f"{value}.encode()"


BYTES_LIKE = frozenset((bytes, bytearray, memoryview))
FAILURES = (struct.error, AttributeError, TypeError, UnicodeEncodeError)


def compile_encoder(
    schema: StructSchema, label: str, *, in_steps: bool = False, generator: type[EncoderGenerator] = EncoderGenerator
) -> Any:
    """The writer of one message version, a generator function if `in_steps`; `label` names it in errors."""
    source = Source(f"<encoder of {label}>")

    def explain(error: Exception) -> EncodeError:
        return EncodeError(f"{label}: {source.path_of(error.__traceback__)}: {error}")

    helpers = (finish, uvarint, regions_size, shortened, explain, struct.pack)
    source.names.update({helper.__name__: helper for helper in helpers})
    source.names.update(FAILURES=FAILURES, ONE_BYTE_VARINTS=ONE_BYTE_VARINTS, BYTES_LIKE=BYTES_LIKE)
    generator(source, in_steps=in_steps).generate(schema)
    return source.compile("encode")
