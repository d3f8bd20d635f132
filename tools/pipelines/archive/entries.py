"""What the log of an archive says: entries, the files they name, and the state that they add up to. Without I/O.

1. Entries are numbered from 0 without gaps. What is not in an entry is not in the archive.
2. An entry of kind `append` covers ranges that begin where the entries before it end, unless it names the gap.
3. An entry of kind `compact` removes files and adds others with the same records.
4. A file is named once: no entry adds a name that another has added.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from tools.pipelines.options import PipelineError
from tools.pipelines.ranges import Offsets, Ranges, ends, merged, to_json

FORMAT = 1


class ArchiveDamaged(PipelineError):
    """The log of an archive is not what a writer of it leaves."""


@dataclass(frozen=True)
class Part:
    """What a file holds of one partition. `checksum` is the exclusive or of the records' hashes, in hexadecimal."""

    first: int
    last: int
    rows: int
    checksum: str


@dataclass(frozen=True)
class File:
    """A Parquet file of one topic and hour; `staged` is where it lay before it was committed."""

    path: str
    topic: str
    bytes: int
    parts: dict[int, Part]
    staged: str

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts.values())

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class Entry:
    """One commit."""

    number: int
    kind: str
    run: str
    time_ms: int
    ranges: Ranges = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    gaps: Ranges = field(default_factory=dict)
    add: tuple[File, ...] = ()
    remove: tuple[str, ...] = ()

    def to_text(self) -> str:
        content = asdict(self) | {"format": FORMAT, "ranges": to_json(self.ranges), "gaps": to_json(self.gaps)}
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def from_text(cls, name: str, text: str) -> "Entry":
        content = _content(name, text)
        try:
            return cls(
                **content
                | {
                    "ranges": _ranges(content["ranges"]),
                    "gaps": _ranges(content["gaps"]),
                    "add": tuple(_file(each) for each in content["add"]),
                    "remove": tuple(content["remove"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ArchiveDamaged(f"{name} is not an entry of an archive's log: {error!r}") from None


@dataclass(frozen=True)
class State:
    """What the entries up to a number add up to."""

    number: int = -1
    offsets: Offsets = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    starts: Offsets = field(default_factory=dict)

    def apply(self, entry: Entry) -> "State":
        """The state after one more entry."""
        if entry.number != self.number + 1:
            raise ArchiveDamaged(f"the archive's log has entry {entry.number} after entry {self.number}")
        files = dict(self.files)
        for path in entry.remove:
            if files.pop(path, None) is None:
                raise ArchiveDamaged(f"entry {entry.number} removes {path}, which the archive does not have")
        for file in entry.add:
            if file.path in self.files:
                raise ArchiveDamaged(f"entry {entry.number} adds {file.path} again")
            files[file.path] = file
        self._check_ranges(entry)
        begun = {topic: {number: start for number, (start, _) in each.items()} for topic, each in entry.ranges.items()}
        return State(
            number=entry.number,
            offsets=merged(self.offsets, ends(entry.ranges)),
            topic_ids={**self.topic_ids, **entry.topic_ids},
            files=files,
            starts=merged(begun, self.starts),
        )

    def _check_ranges(self, entry: Entry) -> None:
        for topic, partitions in entry.ranges.items():
            for number, (start, _) in partitions.items():
                expected = self.offsets.get(topic, {}).get(number, start)
                _, expected = entry.gaps.get(topic, {}).get(number, (expected, expected))
                if start != expected:
                    raise ArchiveDamaged(
                        f"entry {entry.number} begins at offset {start} of {topic}-{number}, not at {expected}"
                    )

    def to_text(self) -> str:
        content = asdict(self) | {"format": FORMAT, "files": [asdict(each) for each in self.files.values()]}
        return json.dumps(content) + "\n"

    @classmethod
    def from_text(cls, name: str, text: str) -> "State":
        content = _content(name, text)
        try:
            files = [_file(each) for each in content["files"]]
            return cls(
                **content
                | {
                    "files": {file.path: file for file in files},
                    "offsets": _offsets(content["offsets"]),
                    "starts": _offsets(content["starts"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ArchiveDamaged(f"{name} is not a snapshot of an archive's log: {error!r}") from None


def _content(name: str, text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
        version = content.pop("format")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArchiveDamaged(f"{name} cannot be read: {error!r}") from None
    if version != FORMAT:
        raise ArchiveDamaged(f"{name} is of format {version}; this program knows format {FORMAT}")
    return dict(content)


def _file(content: dict[str, Any]) -> File:
    parts = {int(number): Part(**part) for number, part in content["parts"].items()}
    return File(**content | {"parts": parts})


def _ranges(content: dict[str, dict[str, list[int]]]) -> Ranges:
    return {
        topic: {int(number): (int(start), int(end)) for number, (start, end) in each.items()}
        for topic, each in content.items()
    }


def _offsets(content: dict[str, dict[str, int]]) -> Offsets:
    return {topic: {int(number): int(at) for number, at in each.items()} for topic, each in content.items()}
