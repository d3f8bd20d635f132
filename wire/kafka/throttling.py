"""Quotas at the door: what a request uses is charged, and whoever has used too much is told to wait and not read from.

As Kafka does it since KIP-219: the answer goes out at once, with how long to wait in it, and for so long nothing is
read from that connection. Nodes of the cluster are not counted. A server goes this way only while there are quotas.
"""

import math
import types
from collections.abc import Callable, Coroutine, Generator
from types import CoroutineType, GeneratorType
from typing import Any

from coordinators.access.quotas.quotas import PERCENT, Quotas
from engine.clock import Clock
from wire.kafka.connection import PRODUCE_KEY
from wire.kafka.request import Context, Deferred
from wire.kafka.steps import Steps

Mute = Callable[[float], object]
"""Has nothing read from the connection for so many seconds."""


class Throttling:
    """See the module."""

    def __init__(self, quotas: Quotas, clock: Clock) -> None:
        self.quotas = quotas
        self._now = clock.monotonic

    def handle(
        self,
        handle: Callable[[Any, Context], Any],
        api_key: int,
        request: Any,
        context: Context,
        size: int,
        mute: Mute,
    ) -> Any:
        """What the handler returns, and in it how long to wait; the connection is muted for that long."""
        charge = _Charge(self, context, mute)
        began = self._now()
        response = handle(request, context)
        charge.took(self._now() - began)
        if api_key == PRODUCE_KEY and self.quotas.produced.is_on:
            charge.waits(self.quotas.produced.use(charge.user, charge.client_id, size))
        if response is None:
            charge.ends()
            return None
        return charge.told(response)


class _Charge:
    """One request: how long its client is to wait."""

    __slots__ = ("_mute", "_now", "_quotas", "_spent_s", "_wait_s", "client_id", "user")

    def __init__(self, throttling: Throttling, context: Context, mute: Mute) -> None:
        self._quotas = throttling.quotas
        self._now = throttling._now
        self._mute = mute
        self.user = context.caller.principal.name
        self.client_id = context.client_id or ""
        self._wait_s = 0.0
        self._spent_s = 0.0

    def took(self, duration_s: float) -> None:
        """The loop was busy with it for so long."""
        self._spent_s += duration_s

    def waits(self, wait_s: float) -> None:
        """For one quota; the longest counts. Nothing more is read at once, whenever the answer comes."""
        if wait_s > self._wait_s:
            self._wait_s = wait_s
            self._mute(wait_s)

    def ends(self) -> None:
        """What it has taken until now is charged; where there is more to do, that is charged afterwards."""
        spent_s, self._spent_s = self._spent_s, 0.0
        if self._quotas.requests.is_on:
            self.waits(self._quotas.requests.use(self.user, self.client_id, spent_s * PERCENT))

    def told(self, response: Any) -> Any:
        """The same response, of whichever kind, with the wait in it."""
        kind = type(response)
        if kind is Deferred:
            self.ends()
            return response.map(self._tell)
        if kind is CoroutineType:
            return self._measured(response)
        if kind is GeneratorType:
            return self._measured_steps(response)
        self.ends()
        return self._tell(response)

    def _tell(self, response: Any) -> Any:
        if type(response) is GeneratorType:
            return self._measured_steps(response)
        own_ms = getattr(response, "throttle_time_ms", None)
        if own_ms is None:
            return response
        self.waits(own_ms / 1000)
        if self._wait_s:
            response.throttle_time_ms = max(own_ms, math.ceil(self._wait_s * 1000))
        return response

    def _measured_steps(self, steps: Steps[Any]) -> Steps[Any]:
        """Each step takes the loop for a while."""
        while True:
            began = self._now()
            try:
                next(steps)
            except StopIteration as end:
                self.took(self._now() - began)
                # What they return may be anything that a handler does.
                return self.told(end.value)
            self.took(self._now() - began)
            yield

    async def _measured(self, response: Coroutine[Any, Any, Any]) -> Any:
        answer = await _driven(response, self._now, self.took)
        return None if answer is None else self.told(answer)


@types.coroutine
def _driven(
    task: Coroutine[Any, Any, Any], now: Callable[[], float], took: Callable[[float], object]
) -> Generator[Any, Any, Any]:
    """Go through a coroutine; what it does between two waits is what it takes the loop."""
    value: Any = None
    error: BaseException | None = None
    while True:
        began = now()
        try:
            wanted = task.send(value) if error is None else task.throw(error)
        except StopIteration as end:
            return end.value
        finally:
            took(now() - began)
        error = None
        try:
            value = yield wanted
        except BaseException as raised:
            error = raised
