"""The archive that is Parquet files and a log of its own."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tools.pipelines.archive.append import Layout, Plan, append, begin
from tools.pipelines.archive.archive import Check, Place
from tools.pipelines.archive.compact import compact, due
from tools.pipelines.archive.entries import File, State
from tools.pipelines.archive.files import holdings, read
from tools.pipelines.archive.log import ArchiveLog
from tools.pipelines.kafka import Cluster
from tools.pipelines.storage import Storage


class ParquetArchive:
    """Files by topic, date and hour, of which the log says what they hold."""

    def __init__(self, spark: Any, storage: Storage) -> None:
        self._spark = spark
        self.storage = storage
        self._log = ArchiveLog(storage)

    @property
    def state(self) -> State:
        return self._log.state

    def recover(self) -> None:
        self._log.recover()

    def begin(self, found: Plan) -> None:
        begin(self._log, found)

    def append(self, cluster: Cluster, piece: Plan, layout: Layout) -> int:
        return sum(file.rows for file in append(self._spark, cluster, self._log, piece, layout).add)

    def tidy(self, layout: Layout, least_files: int, small_bytes: int) -> Iterator[str]:
        for files in due(self.state, least_files, small_bytes):
            compact(self._spark, self._log, files, layout)
            yield f"{len(files)} files of {files[0].folder} are one now"

    def said(self) -> str:
        files = self.state.files.values()
        return f"{len(files):,} files, {sum(file.rows for file in files):,} records in {self.storage.root}"

    def check(self, topics: Iterable[str]) -> Check:
        chosen = set(topics)
        present = {name: size for name, size in self.storage.files("").items() if name.endswith(".parquet")}
        problems = [f"{name}: is no file of the archive" for name in sorted(present) if self._unlisted(name, chosen)]
        sound = []
        for file in self._files(chosen):
            if file.path not in present:
                problems.append(f"{file.path}: is gone")
            elif present[file.path] != file.bytes:
                problems.append(f"{file.path}: has {present[file.path]} bytes, not {file.bytes}")
            else:
                sound.append(file)
        names = [file.path for file in sound]
        found = read(self._spark, self._log, names)
        held = holdings(found, names) if names else {}
        problems += [
            f"{file.path}: does not hold what the archive's log says"
            for file in sound
            if held.get(file.path, ("", {}))[1] != file.parts
        ]
        return problems, found

    def rows(self, topics: Iterable[str]) -> dict[Place, int]:
        rows: dict[Place, int] = defaultdict(int)
        for file in self._files(set(topics)):
            for number, part in file.parts.items():
                rows[file.topic, number] += part.rows
        return rows

    def left(self, topic: str, done: dict[int, int]) -> tuple[Any, str]:
        files = self._files({topic})
        paths = [file.path for file in files if _remains(file, done)]
        told = f"{len(files) - len(paths)} of {len(files)} files are done"
        return read(self._spark, self._log, paths) if paths else None, told

    def _files(self, topics: set[str]) -> list[File]:
        return [file for file in self.state.files.values() if file.topic in topics]

    def _unlisted(self, name: str, topics: set[str]) -> bool:
        hidden = name.startswith(("_", "."))
        topic = name.partition("/")[0].removeprefix("topic=")
        return not hidden and topic in topics and name not in self.state.files


def _remains(file: File, done: dict[int, int]) -> bool:
    return any(part.last >= done.get(number, 0) for number, part in file.parts.items())
