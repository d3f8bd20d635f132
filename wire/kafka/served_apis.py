"""One API in one version, with all that serving a request of it takes: found by one look per request."""

from collections.abc import Callable, Mapping
from typing import Any

from engine.metrics import Histogram
from wire.kafka.apis import Api
from wire.kafka.codec import (
    Part,
    request_decoder,
    request_decoder_in_steps,
    response_encoder,
    response_encoder_in_steps,
    response_start,
)
from wire.kafka.connection import LENGTH_BYTES, MAX_INT32, PRODUCE_KEY
from wire.kafka.request_bounds import BOUNDS, RequestBounds
from wire.kafka.steps import Steps

FETCH_KEY = 1
WHOLE_BYTES = 8 * 1024


class ServedApi:
    """See the module. `pack_start` makes what an answer begins with, out of its length and correlation id."""

    __slots__ = (
        "_bounds",
        "api_key",
        "decode",
        "encode",
        "encodes_at_once",
        "handle",
        "header_bytes",
        "latencies",
        "pack_start",
        "version",
        "whole_bytes",
    )

    def __init__(self, api: Api, version: int, latencies: Histogram, bounds: RequestBounds) -> None:
        start = response_start(api.key, version)
        self.api_key = api.key
        self.version = version
        self.handle: Callable[[Any, Any], Any] = api.handle
        self._bounds = bounds
        self.decode = request_decoder(api.key, version, bounds)
        # A request up to this size is decoded at once. Produce is mostly records, which are not looked at.
        self.whole_bytes = MAX_INT32 if api.key == PRODUCE_KEY else WHOLE_BYTES
        # What these answer is short where the request was, unless the handler says otherwise by working in steps.
        self.encodes_at_once = api.key in (PRODUCE_KEY, FETCH_KEY)
        self.encode = response_encoder(api.key, version)
        self.latencies = latencies
        self.pack_start: Callable[[int, int], bytes] = start.pack
        self.header_bytes = start.size - LENGTH_BYTES

    def decode_in_steps(self, frame: bytes, position: int) -> Steps[Any]:
        """Reads a large request."""
        return request_decoder_in_steps(self.api_key, self.version, self._bounds)(frame, position)

    def encode_in_steps(self, message: Any) -> Steps[list[Part]]:
        """Writes what may be a large answer."""
        return response_encoder_in_steps(self.api_key, self.version)(message)


class ServedApis(dict[tuple[int, int], "ServedApi | None"]):
    """By API key and version, made at the first request; None for what is not served."""

    def __init__(
        self, apis: Mapping[int, Api], latencies: Mapping[int, Histogram], bounds: RequestBounds = BOUNDS
    ) -> None:
        super().__init__()
        self._bounds = bounds
        self._apis = apis
        self._latencies = latencies

    def __missing__(self, place: tuple[int, int]) -> ServedApi | None:
        key, version = place
        api = self._apis.get(key)
        if api is None or not api.serves(version):
            return None  # not kept: a client could ask for 2^32 of them
        served = self[place] = self._made(api, version)
        return served

    def _made(self, api: Api, version: int) -> ServedApi:
        return ServedApi(api, version, self._latencies[api.key], self._bounds)
