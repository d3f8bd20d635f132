"""The public keys of who issues tokens (JWKS), fetched in a thread, kept, and fetched again.

Every `refresh_s`; and when a token names a key that is not known, but not more often than every `pause_s`, whoever
sends such tokens. While nothing can be fetched the last keys count.
"""

import logging
from collections.abc import Callable
from typing import Any

import trio
from attrs import define, field

from coordinators.access.tokens import parse_keys
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.workers import Workers

logger = logging.getLogger("tidegate.access")

Fetch = Callable[[], bytes]
"""[thread] The document; raises OSError or ValueError if there is none."""


@define(eq=False)
class KeySet:
    """One issuer's."""

    fetch: Fetch
    clock: Clock
    workers: Workers
    refresh_s: float = 3600.0
    first_retry_s: float = 0.1
    longest_retry_s: float = 10.0
    pause_s: float = 10.0
    _keys: dict[str, Any] = field(factory=dict, init=False, repr=False)
    _asked_at: float = field(default=float("-inf"), init=False)
    _fetching: trio.Lock = field(factory=trio.Lock, init=False)

    def known(self, key_id: str) -> Any | None:
        """The key of this id, if it was fetched before."""
        return self._keys.get(key_id)

    async def find(self, key_id: str) -> Any | None:
        """The key of this id; None if there is none, which is looked up once more if that was not done just now.

        Who asks while keys are being fetched, as they are when the node has just started, waits for them.
        """
        key = self.known(key_id)
        if key is not None:
            return key
        async with self._fetching:
            if key_id not in self._keys and self.clock.monotonic() - self._asked_at >= self.pause_s:
                await self._refresh()
        return self._keys.get(key_id)

    async def keep(self) -> None:
        """Have keys that are current, as long as the node serves."""
        retry_s = self.first_retry_s
        while True:
            async with self._fetching:
                is_fresh = await self._refresh()
            retry_s = self.first_retry_s if is_fresh else min(2 * retry_s, self.longest_retry_s)
            await trio.sleep(self.refresh_s if is_fresh else retry_s)

    async def _refresh(self) -> bool:
        try:
            keys = parse_keys(await in_worker(self.workers, self.fetch))
            if not keys:
                raise ValueError("it has no key that could be used")
        except Exception as error:
            # Whatever was answered, the node goes on. Only errors of these kinds say no more than they may.
            reason = error if isinstance(error, OSError | ValueError) else type(error).__name__
            logger.error("the keys of who issues tokens cannot be fetched, the last ones count: %s", reason)
            return False
        finally:
            self._asked_at = self.clock.monotonic()
        self._keys = keys
        return True
