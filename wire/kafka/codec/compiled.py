"""Compiles readers and writers on first use and keeps them: one per api key, version and direction."""

import importlib
from functools import cache
from types import ModuleType

from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.decoding import compile_decoder
from wire.kafka.codec.encoding import compile_encoder
from wire.kafka.codec.primitives import Decoder, Encoder
from wire.kafka.codec.schema import Direction, load_schema


@cache
def request_decoder(api_key: int, version: int) -> Decoder:
    """Reads a request: `decode(buffer, position)` takes all that follows, or raises a `WireError`."""
    return _decoder(api_key, version, "request")


@cache
def response_decoder(api_key: int, version: int) -> Decoder:
    """Reads a response, as `request_decoder` does."""
    return _decoder(api_key, version, "response")


@cache
def request_encoder(api_key: int, version: int) -> Encoder:
    """Writes a request, as `response_encoder` does."""
    return _encoder(api_key, version, "request")


@cache
def response_encoder(api_key: int, version: int) -> Encoder:
    """Writes a response: `encode(message)` gives bytes with regions spliced in, one bytes object without."""
    return _encoder(api_key, version, "response")


def _decoder(api_key: int, version: int, direction: Direction) -> Decoder:
    schema = load_schema(api_key, version, direction)
    return compile_decoder(schema, _messages(api_key), direction, f"{schema.name} v{version}")


def _encoder(api_key: int, version: int, direction: Direction) -> Encoder:
    schema = load_schema(api_key, version, direction)
    return compile_encoder(schema, f"{schema.name} v{version}")


def _messages(api_key: int) -> ModuleType:
    return importlib.import_module(f"wire.kafka.messages.{API_TABLE[api_key].module}")
