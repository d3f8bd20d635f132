"""What a node is given of the machine it runs on: time, files, threads, randomness.

A node asks nothing else of the operating system, except for its doors. So it runs just as well in a made-up world, with
a clock that jumps, files in memory, and threads that are none: tests/simulation/ does that.
"""

import random
from collections.abc import Awaitable, Callable

import trio
from attrs import frozen

from engine.clock import Clock
from engine.files.files import Files
from engine.ids import RandomBytes
from engine.journal.device import Device
from engine.partition.sync import RoundSync
from engine.workers import Workers

Dial = Callable[[str, int], Awaitable[trio.abc.HalfCloseableStream]]
"""By host and port; raises OSError."""


@frozen
class World:
    """A node's surroundings."""

    clock: Clock
    files: Files
    random_bytes: RandomBytes
    chance: random.Random
    workers: Workers
    """For everything that blocks and is none of the below."""
    sync_workers: Workers
    cleaner_workers: Workers
    """For compaction, which takes long."""
    catalogue_workers: Workers
    """For the catalogue, which in a cluster may not answer for a while."""
    round_sync: RoundSync
    journal_device: Device | None
    """What the journal is written by; without one it is only read."""
    pause: Callable[[float], None]
    """Sleeps so many seconds, in a worker."""
    dial: Dial
    """Opens a connection to another node."""
