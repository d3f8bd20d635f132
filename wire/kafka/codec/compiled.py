"""Compiles readers and writers on first use and keeps them: one per api key, version and direction."""

import importlib
from functools import cache
from types import ModuleType
from typing import Any

from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.decoding import compile_decoder
from wire.kafka.codec.encoding import compile_encoder
from wire.kafka.codec.primitives import Decoder, DecoderInSteps, Encoder, EncoderInSteps
from wire.kafka.codec.schema import Direction, load_schema
from wire.kafka.request_bounds import BOUNDS, RequestBounds


@cache
def request_decoder(api_key: int, version: int, bounds: RequestBounds = BOUNDS) -> Decoder:
    """Reads a request: `decode(buffer, position)` takes all that follows, or raises a `WireError`."""
    decode: Decoder = _decoder(api_key, version, "request", bounds)
    return decode


@cache
def request_decoder_in_steps(api_key: int, version: int, bounds: RequestBounds = BOUNDS) -> DecoderInSteps:
    """The same for a large request, as a generator function."""
    decode: DecoderInSteps = _decoder(api_key, version, "request", bounds, in_steps=True)
    return decode


@cache
def response_decoder(api_key: int, version: int) -> Decoder:
    """Reads a response, as `request_decoder` does."""
    decode: Decoder = _decoder(api_key, version, "response")
    return decode


@cache
def request_encoder(api_key: int, version: int) -> Encoder:
    """Writes a request, as `response_encoder` does."""
    encode: Encoder = _encoder(api_key, version, "request")
    return encode


@cache
def response_encoder(api_key: int, version: int) -> Encoder:
    """Writes a response: `encode(message)` gives bytes with regions spliced in, one bytes object without."""
    encode: Encoder = _encoder(api_key, version, "response")
    return encode


@cache
def response_encoder_in_steps(api_key: int, version: int) -> EncoderInSteps:
    """The same as a generator function, whose parts are pieces of what `response_encoder` gives."""
    encode: EncoderInSteps = _encoder(api_key, version, "response", in_steps=True)
    return encode


def _decoder(
    api_key: int,
    version: int,
    direction: Direction,
    bounds: RequestBounds = BOUNDS,
    *,
    in_steps: bool = False,
) -> Any:
    schema = load_schema(api_key, version, direction)
    label = f"{schema.name} v{version}"
    return compile_decoder(schema, _messages(api_key), direction, label, bounds, in_steps=in_steps)


def _encoder(api_key: int, version: int, direction: Direction, *, in_steps: bool = False) -> Any:
    schema = load_schema(api_key, version, direction)
    return compile_encoder(schema, f"{schema.name} v{version}", in_steps=in_steps)


def _messages(api_key: int) -> ModuleType:
    return importlib.import_module(f"wire.kafka.messages.{API_TABLE[api_key].module}")
