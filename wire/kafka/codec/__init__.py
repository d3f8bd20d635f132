"""The codec: Kafka messages of every version to and from the classes in `wire.kafka.messages`.

Functions are generated and compiled per version on first use from tables of schemas, which are made from kio's; kio
itself is not loaded, and its own reader never given bytes from the network. Every length that comes in is proved
against the bytes that remain before anything is allocated; what is malformed raises `WireError`.
"""

from wire.kafka.codec.compiled import (
    request_decoder,
    request_decoder_in_steps,
    request_encoder,
    response_decoder,
    response_encoder,
    response_encoder_in_steps,
)
from wire.kafka.codec.header import decode_request_header, is_flexible, response_start, schema_versions
from wire.kafka.codec.primitives import Decoder, EncodeError, Encoder, WireError
from wire.kafka.messages.base import Buffer, Message, Part, Region

__all__ = [
    "Buffer",
    "Decoder",
    "EncodeError",
    "Encoder",
    "Message",
    "Part",
    "Region",
    "WireError",
    "decode_request_header",
    "is_flexible",
    "request_decoder",
    "request_decoder_in_steps",
    "request_encoder",
    "response_decoder",
    "response_encoder",
    "response_encoder_in_steps",
    "response_start",
    "schema_versions",
]
