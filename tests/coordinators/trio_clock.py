"""A clock whose time goes with trio's, which jumps in tests."""

import trio

from tests.engine.logs import NOW_MS


class TrioClock:
    """Wall time goes with trio's."""

    boot = ""

    def now_ms(self) -> int:
        return NOW_MS + int(1000 * trio.current_time())

    def monotonic(self) -> float:
        return trio.current_time()
