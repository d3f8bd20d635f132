"""How long a call takes by itself: its CPU time in the best of some rounds, which other work disturbs least."""

import time
from collections.abc import Callable

ROUND_S = 0.02


def best_us(action: Callable[[], object], rounds: int) -> float:
    """The CPU time of one call in the best round; a round is as many calls as take a while."""
    began = time.process_time()
    action()
    calls = max(1, int(ROUND_S / max(time.process_time() - began, 1e-7)))
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(calls):
            action()
        best = min(best, (time.process_time() - began) / calls)
    return best * 1e6
