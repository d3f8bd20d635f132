"""What comes from an input that may pause for ever, read by a thread of its own while the event loop sends.

A pipe or a terminal is read as it comes: a record is sent when its line is there, not when the next one is.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
AHEAD = 4
"""How many items are read before the first of them is wanted."""
_END = object()


async def arriving(items: Iterator[Item]) -> AsyncIterator[Item]:
    """The items of an iterator that blocks. What it raises is raised here."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[Any] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)
    wanted = True

    def read() -> None:
        try:
            for item in items:
                room.acquire()
                if not wanted:
                    return
                loop.call_soon_threadsafe(arrived.put_nowait, (item, None))
            loop.call_soon_threadsafe(arrived.put_nowait, (_END, None))
        except RuntimeError:
            # The loop was closed while this thread waited for input: nobody is left who would want it.
            if wanted:
                raise
        except BaseException as error:
            loop.call_soon_threadsafe(arrived.put_nowait, (_END, error))

    # A daemon: after Ctrl-C nobody waits for a terminal or a pipe to say something more.
    threading.Thread(target=read, name="input", daemon=True).start()
    try:
        while True:
            item, error = await arrived.get()
            if error is not None:
                raise error
            if item is _END:
                return
            room.release()
            yield item
    finally:
        wanted = False
        room.release()
