"""One API in one version, with all that serving a request of it takes: found by one look per request."""

from collections.abc import Callable, Mapping
from typing import Any

from engine.metrics import Histogram
from wire.kafka.apis import Api
from wire.kafka.codec import request_decoder, response_encoder, response_start
from wire.kafka.connection import LENGTH_BYTES


class Route:
    """See the module. `pack_start` makes what an answer begins with, out of its length and correlation id."""

    __slots__ = ("api_key", "decode", "encode", "handle", "header_bytes", "latencies", "pack_start", "version")

    def __init__(self, api: Api, version: int, latencies: Histogram) -> None:
        start = response_start(api.key, version)
        self.api_key = api.key
        self.version = version
        self.handle: Callable[[Any, Any], Any] = api.handle
        self.decode = request_decoder(api.key, version)
        self.encode = response_encoder(api.key, version)
        self.latencies = latencies
        self.pack_start: Callable[[int, int], bytes] = start.pack
        self.header_bytes = start.size - LENGTH_BYTES


class Routes(dict[tuple[int, int], "Route | None"]):
    """By API key and version, made at the first request; None for what is not served."""

    def __init__(self, apis: Mapping[int, Api], latencies: Mapping[int, Histogram]) -> None:
        super().__init__()
        self._apis = apis
        self._latencies = latencies

    def __missing__(self, place: tuple[int, int]) -> Route | None:
        key, version = place
        api = self._apis.get(key)
        if api is None or not api.serves(version):
            return None  # not kept: a client could ask for 2^32 of them
        route = self[place] = Route(api, version, self._latencies[key])
        return route
