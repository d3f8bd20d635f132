"""Tenants kept to their rates: what a request uses is counted for all of its tenant's clients together, and whoever has
used too much is told so with the answer, and not read from for so long; as quotas are (`throttling.py`)."""

import math
from collections.abc import Callable, Coroutine
from types import CoroutineType, GeneratorType
from typing import Any, cast

from coordinators.tenants.rates import CONSUMED, PRODUCED, REQUESTS, TenantRates
from coordinators.tenants.usage import TenantUsage
from engine.clock import Clock
from wire.kafka.codec.primitives import regions_size
from wire.kafka.connection import PRODUCE_KEY
from wire.kafka.messages.base import Region
from wire.kafka.messages.fetch import FetchRequest, FetchResponse
from wire.kafka.messages.produce import ProduceRequest
from wire.kafka.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from wire.kafka.request import Context, Deferred
from wire.kafka.steps import Steps

FETCHES = (FetchRequest.API_KEY, ShareFetchRequest.API_KEY)


class TenantCharges:
    """Of one tenant."""

    def __init__(self, usage: TenantUsage, rates: TenantRates, clock: Clock) -> None:
        self.usage = usage
        self.rates = rates
        self._now = clock.monotonic

    def charged(self, key: int, handle: Callable[[Any, Context], Any]) -> Callable[[Any, Context], Any]:
        """The handler of an API, whose requests count as the tenant's."""
        usage, rates = self.usage, self.rates

        def counting(request: Any, context: Context) -> Any:
            usage.requests += 1
            if key in FETCHES:
                response = self._bounded_fetch(request, context, handle)
                return self._told(response, _Wait(self, context, self._request_wait_s(0)), counts=True)
            size = produced_bytes(request) if key == PRODUCE_KEY else 0
            response = handle(request, context)
            # Afterwards: what is held is looked at meanwhile, and this is not there yet.
            usage.produced_bytes += size
            if not rates.is_on:
                return response
            wait_s = self._request_wait_s(size)
            return self._told(response, _Wait(self, context, wait_s), counts=False) if wait_s else response

        return counting

    def _bounded_fetch(self, request: Any, context: Context, handle: Callable[[Any, Context], Any]) -> Any:
        """No more at once than a moment's worth of the rate: others would wait for it."""
        most = self.rates.most_at_once(CONSUMED)
        if most is not None and request is not None:
            request.max_bytes = min(request.max_bytes, most)
        return handle(request, context)

    def _request_wait_s(self, produced: int) -> float:
        if not self.rates.is_on:
            return 0.0
        now = self._now()
        wait_s = self.rates.use(REQUESTS, 1, now)
        return max(wait_s, self.rates.use(PRODUCED, produced, now)) if produced else wait_s

    def consumed(self, size: int) -> float:
        """So many bytes of records were read; for how long to wait."""
        self.usage.consumed_bytes += size
        return self.rates.use(CONSUMED, size, self._now()) if self.rates.is_on else 0.0

    def _told(self, response: Any, wait: "_Wait", *, counts: bool) -> Any:
        """The same response, of whichever kind, with the wait in it."""
        kind = type(response)
        tell = wait.tell_fetched if counts else wait.tell
        if kind is Deferred:
            return response.map(lambda answer: self._told(answer, wait, counts=counts))
        if kind is CoroutineType:
            return self._later(response, wait, counts=counts)
        if kind is GeneratorType:
            return self._in_steps(response, wait, counts=counts)
        return response if response is None else tell(response)

    def _in_steps(self, steps: Steps[Any], wait: "_Wait", *, counts: bool) -> Steps[Any]:
        answer = yield from steps
        return self._told(answer, wait, counts=counts)

    async def _later(self, response: Coroutine[Any, Any, Any], wait: "_Wait", *, counts: bool) -> Any:
        return self._told(await response, wait, counts=counts)


class _Wait:
    """How long the sender of one request is to wait."""

    __slots__ = ("_charges", "_context", "_wait_s")

    def __init__(self, charges: TenantCharges, context: Context, wait_s: float) -> None:
        self._charges = charges
        self._context = context
        self._wait_s = 0.0
        self._waits(wait_s)

    def _waits(self, wait_s: float) -> None:
        """The longest counts. Nothing more is read at once, whenever the answer comes."""
        if wait_s > self._wait_s:
            self._charges.usage.throttled_ms += math.ceil((wait_s - self._wait_s) * 1000)
            self._wait_s = wait_s
            if self._context.peer.mute is not None:
                self._context.peer.mute(wait_s)

    def tell(self, response: Any) -> Any:
        """The answer, with the wait in it."""
        if self._wait_s > 0.0:
            response.throttle_time_ms = max(getattr(response, "throttle_time_ms", 0), math.ceil(self._wait_s * 1000))
        return response

    def tell_fetched(self, response: FetchResponse | ShareFetchResponse) -> Any:
        """The same, after what was read is counted."""
        self._waits(self._charges.consumed(fetched_bytes(response)))
        return self.tell(response)


def produced_bytes(request: ProduceRequest) -> int:
    """Of records, as they came."""
    size = 0
    for topic in request.topic_data:
        for partition in topic.partition_data:
            if partition.records is not None:
                size += len(partition.records)
    return size


def fetched_bytes(response: FetchResponse | ShareFetchResponse) -> int:
    """Of records, as they go out."""
    size = 0
    for topic in response.responses:
        for partition in topic.partitions:
            records = partition.records
            if records is None:
                continue
            if isinstance(records, list | tuple):
                size += regions_size(records)
            elif isinstance(records, bytes | bytearray | memoryview):
                size += len(records)
            else:
                size += cast("Region", records).size
    return size
