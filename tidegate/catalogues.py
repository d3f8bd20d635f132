"""The catalogue that a node stands on: its own in the data directory, or that of its cluster, in etcd.

Each is imported where it is used: a broker by itself does not load what talks to etcd.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from attrs import define, field, frozen

from engine.catalogue.catalogue import Catalogue
from engine.catalogue.records import cluster_id
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.files.files import OsFiles
from engine.scrub.steps import OtherFile
from tidegate import belonging
from tidegate.config import BrokerConfig

if TYPE_CHECKING:
    from engine.catalogue.etcd.access import EtcdAccess
    from engine.catalogue.etcd.catalogue import EtcdCatalogue

ANSWER_S = 1.0
"""So long may one of etcd's members take to answer before another is asked."""
ROUNDS = 4
"""So often are all of them asked before it is said that nobody answers."""
STAMPS_PER_PATIENCE = 5


@frozen
class OpenCatalogue:
    """One that is open, and what of it lies in the data directory."""

    catalogue: Catalogue
    other_files: Sequence[OtherFile] = ()


@asynccontextmanager
async def open_catalogue(
    config: BrokerConfig, directory: Path, files: OsFiles, clock: Clock
) -> AsyncIterator[OpenCatalogue]:
    """For the length of the block."""
    if config.settings.items("etcd.endpoints"):
        async with _of_cluster(config, directory, clock) as catalogue:
            yield OpenCatalogue(catalogue)
        return
    from engine.catalogue import guarded

    belonging.refuse_alone(directory)
    own = guarded.open_catalogue(str(directory), files)
    try:
        yield OpenCatalogue(own, [OtherFile(own.path, own.problem)])
    finally:
        own.close()


@define(eq=False)
class LoopStamp:
    """Tells threads whether the event loop lives: one of its tasks says so again and again."""

    _clock: Clock
    _patience_s: float
    _stamped_at: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._stamped_at = self._clock.monotonic()

    def is_alive(self) -> bool:
        """[any thread]"""
        return self._clock.monotonic() - self._stamped_at < self._patience_s

    async def keep(self, scope: trio.CancelScope) -> None:
        """As long as the scope is not cancelled."""
        with scope:
            while True:
                self._stamped_at = self._clock.monotonic()
                await trio.sleep(self._patience_s / STAMPS_PER_PATIENCE)


@asynccontextmanager
async def _of_cluster(config: BrokerConfig, directory: Path, clock: Clock) -> AsyncIterator["EtcdCatalogue"]:
    session_s = config.settings.integer("broker.session.timeout.ms") / 1000
    # A loop that was held up for a moment loses nothing: the session lasts twice as long.
    stamp = LoopStamp(clock, session_s / 2)
    catalogue = etcd_catalogue(config.settings, clock, stamp.is_alive)
    async with trio.open_nursery() as nursery:
        # Shielded: the session is kept until all is closed, also after the broker was cancelled.
        stamping = trio.CancelScope(shield=True)
        nursery.start_soon(stamp.keep, stamping)
        try:
            await trio.to_thread.run_sync(_claim, directory, catalogue, config.node_id)
            yield catalogue
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(catalogue.close)
            stamping.cancel()


def etcd_catalogue(settings: BrokerSettings, clock: Clock, is_alive: Callable[[], bool]) -> "EtcdCatalogue":
    """The cluster's, as the settings say where it is. Its session lasts while the loop of the node `is_alive`."""
    from engine.catalogue.etcd.catalogue import EtcdCatalogue
    from engine.catalogue.etcd.gateway import EtcdEndpoint, Gateway
    from engine.catalogue.etcd.session import EtcdSession

    endpoints = [EtcdEndpoint.parse(url) for url in settings.items("etcd.endpoints")]
    gateway = Gateway(endpoints, ANSWER_S, ROUNDS, time.sleep, clock.monotonic, etcd_access(settings))
    session_s = settings.integer("broker.session.timeout.ms") / 1000
    session = EtcdSession(gateway, session_s, clock.monotonic, is_alive)
    return EtcdCatalogue(gateway, settings.text("etcd.prefix"), os.urandom, session)


def etcd_access(settings: BrokerSettings) -> "EtcdAccess":
    """As the settings say; `InvalidConfig` where they name files that cannot be used."""
    from engine.catalogue.etcd.access import EtcdAccess, tls_context

    files = [f"etcd.ssl.{name}.location" for name in ("ca", "certificate", "key")]
    ca, certificate, key, user, password = (
        None if settings[name] is None else settings.text(name) for name in (*files, "etcd.user", "etcd.password")
    )
    is_secure = any(url.startswith("https:") for url in settings.items("etcd.endpoints"))
    context = tls_context(ca, certificate, key) if is_secure else None
    return EtcdAccess(context, user, password or "")


def _claim(directory: Path, catalogue: "EtcdCatalogue", node_id: int) -> None:
    """[thread] The directory is this node's, in this cluster."""
    from engine.catalogue.sqlite import FILE_NAME

    belonging.refuse_in_cluster(directory, FILE_NAME)
    belonging.claim(directory, belonging.Belonging(cluster_id(catalogue, os.urandom), node_id))
