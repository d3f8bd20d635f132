"""How much a call leaves for the garbage collector: rings of objects, which counting references does not free."""

import gc
from collections.abc import Callable


def garbage_of(call: Callable[[], object]) -> int:
    """Objects that were found unreachable after the call."""
    gc.collect()
    gc.disable()
    try:
        call()
        return gc.collect()
    finally:
        gc.enable()
