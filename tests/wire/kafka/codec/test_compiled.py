"""The compiled codec against kio's own: what either writes, the other reads the same."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wire.kafka.codec.kio_bridge import (
    kio_class,
    kio_decode,
    kio_encode,
    messages_module,
    struct_strategy,
    to_kio,
)
from tests.wire.kafka.codec.served import CASES, SERVED
from tools.fuzz.codec import random_message
from wire.kafka.codec import (
    Decoder,
    Encoder,
    WireError,
    request_decoder,
    request_decoder_in_steps,
    request_encoder,
    response_decoder,
    response_encoder,
    response_encoder_in_steps,
    schema_versions,
)
from wire.kafka.codec.schema import Direction, load_schema


def codec(key: int, version: int, direction: Direction) -> tuple[Encoder, Decoder]:
    if direction == "request":
        return request_encoder(key, version), request_decoder(key, version)
    return response_encoder(key, version), response_decoder(key, version)


@pytest.mark.parametrize(("key", "version", "direction"), CASES)
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_kio_reads_what_we_write_and_we_read_what_kio_writes(
    key: int, version: int, direction: Direction, data: st.DataObject
) -> None:
    schema, kio = load_schema(key, version, direction), kio_class(key, version, direction)
    encode, decode = codec(key, version, direction)
    message = data.draw(struct_strategy(schema, kio, messages_module(key), direction))
    entity = to_kio(message, schema, kio)

    (encoded,) = encode(message)
    assert kio_decode(kio, encoded) == entity
    assert decode(encoded, 0) == message
    assert to_kio(decode(kio_encode(entity), 0), schema, kio) == entity


@pytest.mark.parametrize(("key", "served"), SERVED.items())
def test_every_served_version_has_a_schema(key: int, served: tuple[int, int]) -> None:
    first, last = schema_versions(key)
    assert first <= served[0] <= served[1] <= last


def test_a_codec_is_compiled_once() -> None:
    assert request_decoder(3, 9) is request_decoder(3, 9)
    assert response_encoder(3, 9) is response_encoder(3, 9)


@pytest.mark.parametrize("lookup", [request_decoder, request_encoder, response_decoder, response_encoder])
def test_an_unknown_version_has_no_codec(lookup: object) -> None:
    with pytest.raises(WireError, match="no schema for api key 0 version 99"):
        lookup(0, 99)  # type: ignore[operator]


@pytest.mark.parametrize(("key", "version", "direction"), CASES)
def test_steps_read_and_write_the_same(key: int, version: int, direction: Direction) -> None:
    schema, chance = load_schema(key, version, direction), Random(key * 100 + version)
    message = random_message(schema, messages_module(key), direction, chance)
    for member in schema.fields:
        if member.is_array and member.type != "uuid":
            setattr(message, member.name, (getattr(message, member.name) or []) * 150)
    (encoded,) = codec(key, version, direction)[0](message)
    if direction == "response":
        steps = response_encoder_in_steps(key, version)(message)
    else:
        steps = request_decoder_in_steps(key, version)(encoded, 0)
    pauses = []
    while True:
        try:
            pauses.append(next(steps))
        except StopIteration as end:
            result = end.value
            break
    if direction == "response":
        assert b"".join(result) == encoded
        assert [len(part) for part in result[: len(pauses)]] == pauses
    else:
        assert result == request_decoder(key, version)(encoded, 0)
