"""Generates the function that reads one message of one version.

Consecutive values of fixed size, and the first byte of a length that follows them, are one `unpack_from`; it
raises by itself where bytes lack. Slices do not, so every length is first compared with the bytes that remain,
and a count of elements with the least that so many elements would take.

What grows when it is decoded is counted: elements of arrays, numbers too, and tags. A large request is read in steps:
the same statements as a generator, which yields every `ELEMENTS_PER_STEP` elements, and weighs what it makes
(`bounds.py`).
"""

import struct
from types import ModuleType
from typing import Any

import msgspec
from attrs import define, field

from wire.kafka.codec.bounds import (
    BYTES_BYTES,
    EMPTY_LIST_BYTES,
    LEAST_BYTES,
    LIST_BYTES,
    SLOT_BYTES,
    STRING_BYTES,
    field_bytes,
)
from wire.kafka.codec.primitives import (
    ELEMENTS_PER_STEP,
    MAX_STRING_BYTES,
    MAX_TAGS,
    WireError,
    read_tag,
    read_uvarint_tail,
    skip_tags,
)
from wire.kafka.codec.schema import FORMAT_SIZES, FORMATS, Direction, FieldSchema, StructSchema
from wire.kafka.codec.source import Source
from wire.kafka.request_bounds import BOUNDS, RequestBounds


def message_class(messages: ModuleType, name: str, direction: Direction) -> type:
    """The generated class of a struct: it says its direction where request and response share a name."""
    found: type = getattr(messages, direction.capitalize() + name, None) or getattr(messages, name)
    return found


def least_size(member: FieldSchema, flexible: bool) -> int:
    """The fewest bytes that the field can take."""
    if member.is_array or member.type in ("string", "bytes", "records"):
        return 1 if flexible else 2 if member.type == "string" and not member.is_array else 4
    return least_element_size(member)


def least_element_size(member: FieldSchema) -> int:
    """The fewest bytes that one value can take, or one element of an array."""
    if member.struct is not None:
        return 1 if member.nullable and not member.is_array else least_struct_size(member.struct)
    return FORMAT_SIZES[FORMATS[member.type]]


def least_struct_size(struct: StructSchema) -> int:
    """The fewest bytes of a struct, never 0: a count must always be bounded by the bytes that remain."""
    sizes = (least_size(member, struct.flexible) for member in struct.untagged)
    return max(1, sum(sizes) + (1 if struct.flexible else 0))


BYTES_PER_ELEMENT_WITH_RECORDS = 64
"""A partition of a Produce request holds a batch, which has at least 61 bytes."""
FEW_ELEMENTS = 1_000


@define
class Run:
    """Values of fixed size that are read together."""

    formats: list[str] = field(factory=list)
    targets: list[str] = field(factory=list)
    paths: list[str] = field(factory=list)


@define
class DecoderGenerator:
    """Writes the statements for one message."""

    source: Source
    messages: ModuleType
    direction: Direction
    bounds: RequestBounds = BOUNDS
    in_steps: bool = False
    run: Run = field(factory=Run)
    signature: str = "decode(buffer, p)"

    @property
    def is_bounded(self) -> bool:
        """Whether the number of elements is limited: requests come from anybody, responses from who was asked."""
        return self.direction == "request"

    @property
    def is_weighed(self) -> bool:
        """Whether what is made is weighed, too."""
        return self.is_bounded and self.in_steps

    def generate(self, schema: StructSchema) -> None:
        source = self.source
        with source.block(f"def {self.signature}:"):
            with source.block("try:"):
                source.add("end = len(buffer)")
                if self.is_bounded:
                    source.add(f"room = {self.room(schema)}")
                if self.is_weighed:
                    source.add(f"spare = {LEAST_BYTES} + {self.bounds.max_expansion} * (end - p)")
                if self.in_steps:
                    source.add(f"step = {ELEMENTS_PER_STEP}")
                    source.add("if False: yield  # a generator without arrays, too")
                if _has_records(schema):
                    source.add("view = memoryview(buffer)")
                self.message(schema)
            with source.block("except FAILURES as error:"):
                source.add("raise explain(error) from None")

    def room(self, schema: StructSchema) -> str:
        """The expression of how many elements there may be."""
        if not _has_records(schema):
            return str(self.bounds.max_elements)
        return f"min({self.bounds.max_elements}, {FEW_ELEMENTS} + (end - p) // {BYTES_PER_ELEMENT_WITH_RECORDS})"

    def take_room(self, count: str) -> None:
        """Counts elements, before anything is made of them."""
        if self.is_bounded:
            self.source.add(f"room -= {count}")
            with self.source.block("if room < 0:"):
                self.source.add("raise WireError(TOO_MANY)")

    def weigh(self, size: str) -> None:
        """Counts bytes of memory, before they are taken."""
        if self.is_weighed:
            self.source.add(f"spare -= {size}")
            with self.source.block("if spare < 0:"):
                self.source.add("raise WireError(TOO_HEAVY)")

    def text_bytes(self) -> str:
        """The expression of what the text from p to q comes to."""
        return f"{STRING_BYTES} + q - p if q - p > 1 else 0"

    def message(self, schema: StructSchema) -> None:
        result = self.struct(schema)
        # Bytes after a request are ignored, as Kafka does it: librdkafka's Metadata v13 for all topics has three.
        if not self.is_bounded:
            with self.source.block("if p != end:"):
                self.source.add('raise WireError(f"{end - p} bytes too many")')
        self.source.add(f"return {result}")

    def flush(self) -> None:
        """Reads the values that were put off."""
        run, self.run = self.run, Run()
        if not run.formats:
            return
        if run.formats == ["B"]:
            self.source.add_span(f"{run.targets[0]} = buffer[p]", run.paths)
            self.source.add("p += 1")
            return
        unpack = self.source.struct("".join(run.formats), "unpack_from")
        self.source.add_span(f"{', '.join(run.targets)}, = {unpack}(buffer, p)", run.paths)
        self.source.add(f"p += {sum(FORMAT_SIZES[item] for item in run.formats)}")

    def put_off(self, format_: str, target: str) -> str:
        self.run.formats.append(format_)
        self.run.targets.append(target)
        self.run.paths.append(self.source.path)
        return target

    def struct(self, schema: StructSchema) -> str:
        """Reads a struct; returns the expression that builds it."""
        source = self.source
        values: dict[str, str] = {}
        for member in schema.untagged:
            with source.at(member.name):
                values[member.name] = self.value(member, schema.flexible)
        if schema.flexible:
            with source.at("tags"):
                count = self.put_off("B", source.fresh("tags"))
                self.flush()
            values |= self.tags(schema, count)
        self.flush()
        return self.construct(schema, values)

    def class_of(self, schema: StructSchema) -> type:
        """What a struct is made into."""
        return message_class(self.messages, schema.name, self.direction)

    def construct(self, schema: StructSchema, values: dict[str, str]) -> str:
        """Calls the class with positions, the quickest way, up to the last field that this version has."""
        cls = self.class_of(schema)
        attributes = list(msgspec.structs.fields(cls))
        while attributes and attributes[-1].name not in values:
            attributes.pop()
        arguments = [values.get(slot.name) or self.absent(slot) for slot in attributes]
        return f"{self.source.constant(cls.__name__, cls)}({', '.join(arguments)})"

    def absent(self, slot: msgspec.structs.FieldInfo) -> str:
        """The expression of a class's default, for a field that this version does not have."""
        if slot.default is not msgspec.NODEFAULT:
            return repr(slot.default)
        if slot.default_factory is list:
            return "[]"
        return f"{self.source.constant('make', slot.default_factory)}()"

    def value(self, member: FieldSchema, flexible: bool) -> str:
        """Reads a field; returns the expression of its value."""
        if member.is_array:
            return self.array(member, flexible)
        if member.fixed_format is not None:
            return self.put_off(member.fixed_format, self.source.fresh("v"))
        if member.struct is not None:
            return self.nested(member, member.struct)
        return self.sized(member, flexible)

    def nested(self, member: FieldSchema, struct: StructSchema) -> str:
        if not member.nullable:
            result = self.source.fresh("v")
            self.source.add(f"{result} = {self.struct(struct)}")
            return result
        source, result = self.source, self.source.fresh("v")
        marker = self.put_off("b", source.fresh("n"))
        self.flush()
        with source.block(f"if {marker} == 1:"):
            source.add(f"{result} = {self.struct(struct)}")
        with source.block(f"elif {marker} == -1:"):
            source.add(f"{result} = None")
        with source.block("else:"):
            source.add(f'raise WireError(f"neither null nor present: {{{marker}}}")')
        return result

    def length(self, format_: str, flexible: bool, most: int | None = None) -> str:
        """Reads a length or count as it stands on the wire: where flexible, one more than it means. Where the old form
        cannot say more than `most`, neither may the new one: what one client says is told to others in either."""
        source = self.source
        name = self.put_off("B" if flexible else format_, source.fresh("n"))
        self.flush()
        if flexible:
            with source.block(f"if {name} > 127:"):
                source.add(f"{name}, p = read_uvarint_tail(buffer, p, {name})")
                if most is not None and self.is_bounded:
                    with source.block(f"if {name} > {most + 1}:"):
                        source.add(f'raise WireError(f"a string of {{{name} - 1}} bytes; {most} is the most")')
        return name

    def null_branch(self, member: FieldSchema, name: str, result: str, flexible: bool) -> None:
        """The branch for a null, and for other negative lengths."""
        source = self.source
        null = "0" if flexible else "-1"
        with source.block(f"if {name} == {null}:"):
            source.add(f"{result} = None" if member.nullable else 'raise WireError("may not be null")')
        if not flexible:
            with source.block(f"elif {name} < 0:"):
                source.add(f'raise WireError(f"negative length {{{name}}}")')

    def sized(self, member: FieldSchema, flexible: bool) -> str:
        """Reads a string, bytes or records."""
        source, result = self.source, self.source.fresh("v")
        is_string = member.type == "string"
        name = self.length("h" if is_string else "i", flexible, MAX_STRING_BYTES if is_string else None)
        self.null_branch(member, name, result, flexible)
        with source.block("else:"):
            source.add(f"q = p + {name}" + (" - 1" if flexible else ""))
            with source.block("if q > end:"):
                source.add('raise WireError(f"{q - p} bytes do not fit into the {end - p} bytes that remain")')
            if is_string or member.type == "bytes":
                self.weigh(self.text_bytes() if is_string else f"{BYTES_BYTES} + q - p")
            taken = {
                "string": 'str(buffer[p:q], "utf-8")',
                "bytes": "bytes(buffer[p:q])",
                "records": "view[p:q]",
            }
            source.add(f"{result} = {taken[member.type]}")
            source.add("p = q")
        return result

    def array(self, member: FieldSchema, flexible: bool) -> str:
        source, result = self.source, self.source.fresh("v")
        name = self.length("i", flexible)
        self.null_branch(member, name, result, flexible)
        with source.block("else:"):
            if flexible:
                source.add(f"{name} -= 1")
            self.elements(member, flexible, name, result)
        return result

    def elements(self, member: FieldSchema, flexible: bool, count: str, result: str) -> None:
        """Reads the elements of an array, having proved that so many can be there."""
        source = self.source
        single = FieldSchema(member.name, member.type, False, False, None, None, member.struct)
        least = least_size(single, flexible)
        with source.block(f"if {count} * {least} > end - p:"):
            source.add(f'raise WireError(f"{{{count}}} elements do not fit into the {{end - p}} bytes that remain")')
        self.take_room(count)
        each = SLOT_BYTES + field_bytes(single, self.class_of)
        format_ = single.fixed_format
        if format_ is not None and len(format_) == 1:
            self.weigh(f"{EMPTY_LIST_BYTES} + {count} * {each}")
            source.add(f'{result} = list(unpack_from(f">{{{count}}}{format_}", buffer, p))')
            source.add(f"p += {count} * {least}")
            return
        self.weigh(f"{LIST_BYTES} + {count} * {each} if {count} else {EMPTY_LIST_BYTES}")
        source.add(f"{result} = []")
        with source.block(f"for _ in range({count}):"), source.at("[]"):
            if self.in_steps:
                self.pause()
            element = self.value(single, flexible)
            self.flush()
            source.add(f"{result}.append({element})")

    def pause(self) -> None:
        """Lets whoever drives the generator look at the clock now and then."""
        source = self.source
        source.add("step -= 1")
        with source.block("if not step:"):
            source.add(f"step = {ELEMENTS_PER_STEP}")
            source.add("yield")

    def tags(self, schema: StructSchema, count: str) -> dict[str, str]:
        """Reads the tag section; returns the values of the tagged fields, their defaults where absent."""
        source = self.source
        values = {member.name: source.fresh("t") for member in schema.tagged}
        for member in schema.tagged:
            source.add(f"{values[member.name]} = {self.default(member)}")
        with source.at("tags"), source.block(f"if {count}:"):
            if self.is_bounded:
                with source.block(f"if {count} > {MAX_TAGS}:"):
                    source.add(f'raise WireError("more than {MAX_TAGS} tagged fields")')
                self.take_room(count)
            if not schema.tagged:
                source.add(f"p = skip_tags(buffer, p, {count}, end)")
                return values
            self.tag_loop(schema, count, values)
        return values

    def tag_loop(self, schema: StructSchema, count: str, values: dict[str, str]) -> None:
        source = self.source
        with source.block(f"if {count} > 127:"):
            source.add(f"{count}, p = read_uvarint_tail(buffer, p, {count})")
        with source.block(f"if {count} * 2 > end - p:"):
            source.add(f'raise WireError(f"{{{count}}} tags do not fit into the {{end - p}} bytes that remain")')
        tag, stop = source.fresh("tag"), source.fresh("stop")
        source.add(f"{tag} = -1")
        with source.block(f"for _ in range({count}):"):
            source.add(f"{tag}, p, {stop} = read_tag(buffer, p, {tag}, end)")
            source.add(f"{stop} += p")
            for position, member in enumerate(schema.tagged):
                head = "if" if position == 0 else "elif"
                with source.block(f"{head} {tag} == {member.tag}:"), source.at(member.name):
                    self.tagged_value(member, values[member.name], stop)
            with source.block("else:"):
                source.add(f"p = {stop}")

    def tagged_value(self, member: FieldSchema, target: str, stop: str) -> None:
        value = self.value(member, flexible=True)
        self.flush()
        self.source.add(f"{target} = {value}")
        with self.source.block(f"if p != {stop}:"):
            self.source.add(f'raise WireError(f"the tagged field ends {{p - {stop}}} bytes past its size")')

    def default(self, member: FieldSchema) -> str:
        return "[]" if member.default == [] else repr(member.default)


def _has_records(schema: StructSchema) -> bool:
    return any(
        member.type == "records" or (member.struct is not None and _has_records(member.struct))
        for member in schema.fields
    )


FAILURES = (WireError, struct.error, IndexError, UnicodeDecodeError)


def compile_decoder(
    schema: StructSchema,
    messages: ModuleType,
    direction: Direction,
    label: str,
    bounds: RequestBounds = BOUNDS,
    *,
    in_steps: bool = False,
    generator: type[DecoderGenerator] = DecoderGenerator,
) -> Any:
    """The reader of one message version, a generator function if `in_steps`; `label` names it in errors."""
    source = Source(f"<decoder of {label}>")

    def explain(error: Exception) -> WireError:
        place = source.path_of(error.__traceback__) or "end of message"
        reason = str(error) if isinstance(error, WireError) else "the message ends too early"
        if isinstance(error, UnicodeDecodeError):
            reason = f"invalid UTF-8: {error.reason}"
        return WireError(f"{label}: {place}: {reason}")

    helpers = (WireError, read_uvarint_tail, read_tag, skip_tags, explain, struct.unpack_from)
    source.names.update({helper.__name__: helper for helper in helpers})
    source.names["FAILURES"] = FAILURES
    most = bounds.max_elements
    source.names["TOO_MANY"] = f"more than {most} elements in one request (socket.request.max.elements)"
    if _has_records(schema):
        source.names["TOO_MANY"] = f"more elements than so many bytes of records, or {most}, can have"
    source.names["TOO_HEAVY"] = (
        f"it would take more than {bounds.max_expansion} times its size in memory (socket.request.max.expansion)"
    )
    generator(source, messages, direction, bounds, in_steps).generate(schema)
    return source.compile("decode")
