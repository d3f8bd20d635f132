"""What an API version needs is put together once; there is nothing for what is not served."""

from engine.metrics import Histogram
from wire.kafka.apis import registered
from wire.kafka.codec import request_decoder, response_encoder
from wire.kafka.request_bounds import BOUNDS
from wire.kafka.served_apis import ServedApis

PRODUCE = 0


def served() -> ServedApis:
    apis = registered()
    return ServedApis(apis, {key: Histogram() for key in apis})


def test_it_is_made_at_the_first_request_and_kept() -> None:
    found = served()
    api = found[PRODUCE, 9]
    assert api is not None
    assert api is found[PRODUCE, 9]
    assert api.handle is registered()[PRODUCE].handle
    assert api.decode is request_decoder(PRODUCE, 9, BOUNDS)
    assert api.encode is response_encoder(PRODUCE, 9)


def test_the_start_of_an_answer_follows_the_version() -> None:
    found = served()
    old, flexible = found[PRODUCE, 8], found[PRODUCE, 9]
    assert old is not None
    assert flexible is not None
    assert (old.header_bytes, old.pack_start(4, 7)) == (4, bytes.fromhex("00000004 00000007"))
    assert (flexible.header_bytes, flexible.pack_start(5, 7)) == (5, bytes.fromhex("00000005 00000007 00"))


def test_what_is_not_served_has_none_and_is_not_remembered() -> None:
    found = served()
    assert found[PRODUCE, 2] is None
    assert found[PRODUCE, 99] is None
    assert found[9_999, 0] is None
    assert len(found) == 0
