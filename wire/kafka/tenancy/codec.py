"""Readers and writers of messages for tenants: those of `wire.kafka.codec`, in which every field that holds a name
goes through the tenant's view (`view.py`), which they are given as a further argument `t`.

What a writer is given is never altered: answers may share parts with what the broker keeps. Lists of named things lose
those that are not the tenant's.
"""

import importlib
from functools import cache
from typing import Any

from attrs import define, field

from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.bounds import STRING_BYTES
from wire.kafka.codec.decoding import DecoderGenerator, compile_decoder
from wire.kafka.codec.encoding import EncoderGenerator, compile_encoder
from wire.kafka.codec.schema import FieldSchema, StructSchema, load_schema
from wire.kafka.request_bounds import RequestBounds
from wire.kafka.tenancy.fields import STRUCTS_CHOSEN, STRUCTS_READ, STRUCTS_WRITTEN, Kind, kind_of


@define
class TenantDecoderGenerator(DecoderGenerator):
    """Names come in with their prefix."""

    signature: str = "decode(buffer, p, t)"
    within: list[StructSchema] = field(factory=list)

    def text_bytes(self) -> str:
        """Any may be a name, which comes to one with a prefix."""
        return f"{STRING_BYTES} + q - p + len(t.prefix)"

    def struct(self, schema: StructSchema) -> str:
        self.within.append(schema)
        made = super().struct(schema)
        self.within.pop()
        translate = STRUCTS_READ.get(schema.name)
        return made if translate is None else f"t.{translate}({made})"

    def value(self, member: FieldSchema, flexible: bool) -> str:
        made = super().value(member, flexible)
        if member.is_array or member.struct is not None:
            return made  # its elements and fields have been seen to
        kind = kind_of(self.within[-1], member)
        return made if kind in (Kind.PLAIN, Kind.IN_STRUCT) else f"t.{kind.value}_read({made})"


@define
class TenantEncoderGenerator(EncoderGenerator):
    """Names go out without their prefix, and without those of others."""

    signature: str = "encode(m, t)"
    within: list[StructSchema] = field(factory=list)

    def struct(self, schema: StructSchema, owner: str) -> None:
        translate = STRUCTS_WRITTEN.get(schema.name)
        if translate is not None:
            translated = self.source.fresh("o")
            self.source.add(f"{translated} = t.{translate}({owner})")
            owner = translated
        self.within.append(schema)
        super().struct(schema, owner)
        self.within.pop()

    def value(self, member: FieldSchema, expression: str, flexible: bool) -> None:
        if not member.is_array and member.struct is None:
            kind = kind_of(self.within[-1], member)
            if kind not in (Kind.PLAIN, Kind.IN_STRUCT):
                expression = f"t.{kind.value}_written({expression})"
        super().value(member, expression, flexible)

    def array(self, member: FieldSchema, expression: str, flexible: bool) -> None:
        conditions = self.conditions(member)
        if conditions:
            source, whole, mine = self.source, self.source.fresh("l"), self.source.fresh("l")
            source.add(f"{whole} = {expression}")
            source.add(f"{mine} = {whole} and [e for e in {whole} if {' and '.join(conditions)}]")
            expression = mine
        super().array(member, expression, flexible)

    def conditions(self, member: FieldSchema) -> list[str]:
        """What must hold of an element `e` so that a tenant is told of it."""
        if member.struct is None:
            return ["t.is_mine(e)"] if kind_of(self.within[-1], member) is Kind.NAME else []
        found = []
        for each in member.struct.fields:
            kind = None if each.is_array else kind_of(member.struct, each)
            if kind is Kind.NAME:
                found.append(f"t.is_mine(e.{each.name})")
            elif kind is Kind.TOPIC_ID:
                found.append(f"t.is_my_id(e.{each.name})")
        chooses = STRUCTS_CHOSEN.get(member.struct.name)
        return found if chooses is None else [*found, f"t.{chooses}(e)"]


@cache
def tenant_request_decoder(api_key: int, version: int, bounds: RequestBounds, *, in_steps: bool = False) -> Any:
    """Reads a request as `request_decoder` does: `decode(buffer, position, view)`."""
    schema = load_schema(api_key, version, "request")
    messages = importlib.import_module(f"wire.kafka.messages.{API_TABLE[api_key].module}")
    label = f"{schema.name} v{version}"
    return compile_decoder(
        schema, messages, "request", label, bounds, in_steps=in_steps, generator=TenantDecoderGenerator
    )


@cache
def tenant_response_encoder(api_key: int, version: int, *, in_steps: bool = False) -> Any:
    """Writes a response as `response_encoder` does: `encode(message, view)`."""
    schema = load_schema(api_key, version, "response")
    return compile_encoder(schema, f"{schema.name} v{version}", in_steps=in_steps, generator=TenantEncoderGenerator)
