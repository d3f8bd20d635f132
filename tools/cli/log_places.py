"""Whose files these are: topics and partitions of the folders below a data directory, read without a broker.

Folders are named by topic id; the catalogue knows the names. Apache Kafka's folders, `orders-0`, say it themselves.
"""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Collection
from functools import cache
from pathlib import Path

from attrs import frozen

from engine.catalogue.records import TopicRecord
from tools.cli.errors import NotFound, UsageMistake

CATALOGUE = "catalogue.sqlite"
STAGE = "stage"
_KAFKA_FOLDER = re.compile(r"(.+)-(\d+)")


@frozen
class Place:
    """The partition that a file belongs to; the topic is its id where the name is not known."""

    topic: str
    partition: int
    is_stage: bool = False

    @property
    def name(self) -> str:
        """As people write it."""
        return f"{self.topic}-{self.partition}" + ("/stage" if self.is_stage else "")


def place_of(path: Path) -> Place | None:
    """Of a file or folder; None if it lies nowhere that is known."""
    parts = path.absolute().parts
    for number in range(len(parts) - 1, 1, -1):
        if parts[number].isdecimal() and parts[number - 2] == "topics":
            names = topic_names(Path(*parts[: number - 2]))
            topic = names.get(parts[number - 1], parts[number - 1])
            return Place(topic, int(parts[number]), STAGE in parts[number + 1 :])
    if match := _KAFKA_FOLDER.fullmatch(path.absolute().parent.name):
        return Place(match.group(1), int(match.group(2)))
    return None


@cache
def topic_names(data_dir: Path) -> dict[str, str]:
    """Names by the folders that topics are in; empty where there is no catalogue."""
    if not (data_dir / CATALOGUE).is_file():
        return {}
    try:
        rows = _entries(data_dir)
    except (sqlite3.Error, OSError):
        return {}
    names = {}
    for (value,) in rows:
        try:
            record = TopicRecord.decode(value)
            names[record.id.hex()] = record.name
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return names


def _entries(data_dir: Path) -> list[tuple[bytes]]:
    # A broker that runs has locked it: a copy is read, with the changes that are not yet in the file itself.
    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        for file in data_dir.glob(f"{CATALOGUE}*"):
            if not file.name.endswith("-shm"):
                shutil.copyfile(file, Path(folder) / file.name)
        connection = sqlite3.connect(Path(folder) / CATALOGUE)
        try:
            return connection.execute("SELECT value FROM entries WHERE key LIKE 'topics/%'").fetchall()
        finally:
            connection.close()


def folders(data_dir: Path, topic: str, partitions: Collection[int]) -> list[Path]:
    """The folders of a topic's partitions."""
    names = topic_names(data_dir)
    ids = [folder for folder, name in names.items() if topic in (name, folder)]
    if not ids:
        known = ", ".join(sorted(names.values())[:12]) or "none, or no catalogue"
        raise NotFound(f"{data_dir} has no topic {topic!r}", f"it has {known}")
    found = [each for each in (data_dir / "topics" / ids[0]).glob("*") if each.name.isdecimal()]
    chosen = [each for each in found if not partitions or int(each.name) in partitions]
    if not chosen:
        there = ", ".join(sorted((each.name for each in found), key=int)) or "none"
        raise NotFound(f"no such partition of {topic!r} has files", f"those with files: {there}")
    return sorted(chosen, key=lambda each: int(each.name))


def segments(place: Path, topic: str | None, partitions: Collection[int], *, stage: bool) -> list[Path]:
    """The segments that are meant: a file is itself; of a data directory, those of a topic."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise NotFound(f"there is no {place}", "name a data directory, a partition's folder, or a file in it")
    if topic is None and (place / CATALOGUE).is_file():
        known = ", ".join(sorted(topic_names(place).values())[:12])
        raise UsageMistake(f"which topic of {place}?", f"give --topic; there are {known or 'none'}")
    chosen = [place] if topic is None else folders(place, topic, partitions)
    found = [file for folder in chosen for file in sorted((folder / STAGE if stage else folder).glob("*.log"))]
    if not found:
        raise NotFound(f"{'the stage of ' * stage}{topic or place} has no segments", "nothing was written there yet")
    return found
