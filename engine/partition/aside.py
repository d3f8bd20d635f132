"""[thread] Directories that are taken out of use and kept for a while, beside where they were: what a node should not
hold by the catalogue, and copies that failed their checks. Somebody may want to look, or the catalogue may be wrong."""

import logging
import re

from engine.files.files import Files

logger = logging.getLogger("tidegate.replicas")

KEPT_MS = 24 * 60 * 60 * 1000
_ASIDE = re.compile(r"(?P<name>.+)\.aside-(?P<at_ms>\d+)")


def put_aside(files: Files, parent: str, name: str, now_ms: int) -> None:
    """Give a directory a name by which nobody looks for it; nothing happens if there is none."""
    if name in files.list_directories(parent):
        files.rename(f"{parent}/{name}", f"{parent}/{name}.aside-{now_ms}")
        files.sync_directory(parent)


def forget_old(files: Files, parent: str, now_ms: int) -> None:
    """Remove those that have been kept for long enough."""
    for name in files.list_directories(parent):
        found = _ASIDE.fullmatch(name)
        if found is not None and int(found["at_ms"]) + KEPT_MS < now_ms:
            logger.info("removing %s/%s, which has been out of use for a day", parent, name)
            files.remove_tree(f"{parent}/{name}")
