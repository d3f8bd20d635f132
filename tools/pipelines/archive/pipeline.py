"""The pipeline `archive`: topics to Parquet, once or for as long as it is let run.

The archive's own log is the only memory of how far it came: a batch of offsets and the files that hold it are
committed in one step, so that there is no checkpoint that could disagree with the files.
"""

import threading
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from tools.pipelines.archive.append import Layout, Plan, append, begin, plan
from tools.pipelines.archive.compact import MEBIBYTE, compact, due
from tools.pipelines.archive.entries import ArchiveDamaged
from tools.pipelines.archive.log import ArchiveLog, Overtaken
from tools.pipelines.kafka import Cluster
from tools.pipelines.objects import storage_at
from tools.pipelines.options import OK, PipelineError, UsageError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import Ranges, ends, first_piece, merged, ranges_between, starts
from tools.pipelines.running import connected, first_line, progress_for, session_for, stopping
from tools.pipelines.typed.registry import Registry
from tools.pipelines.watching import Watch, follow_ends


def run(values: Values) -> int:
    """Archives what is there, and with `follow` what comes."""
    if not values["topics"] and not values["pattern"]:
        raise UsageError("--topics or --pattern is missing: which topics to archive")
    if values["schemas"] and not values["registry"]:
        raise UsageError("--registry is missing: the address of the registry that knows the schemas")
    with (
        session_for("archive", values) as spark,
        progress_for("archive", values, spark) as progress,
        connected(spark, values) as cluster,
    ):
        Archiver(spark, cluster, values, progress).run()
    return OK


class Archiver:
    """Batches until the end of the topics, as of the start or, following, for ever."""

    def __init__(self, spark: Any, cluster: Cluster, values: Values, progress: Progress) -> None:
        self._spark = spark
        self._cluster = cluster
        self._values = values
        self.log = ArchiveLog(storage_at(spark, values["archive"]))
        self.progress = progress
        self._failures = 0
        self._layout = Layout(
            values["isolation"],
            tuple(values["json"]),
            values["files_per_hour"],
            values["max_records_per_file"],
            tuple(values["schemas"]),
            Registry(values["registry"], values["registry_config"]) if values["registry"] else None,
        )

    def run(self) -> None:
        self._round()
        if self._values["follow"]:
            with stopping() as asked:
                self._follow(asked)
        self.progress.say(f"{len(self.log.state.files):,} files, {self._rows():,} records in {self.log.storage.root}")

    def _follow(self, asked: threading.Event) -> None:
        while not asked.is_set():
            self.progress.doing = "waiting for more"
            if not asked.wait(self._values["interval"]):
                self._try_round()

    def _try_round(self) -> None:
        """A round that may fail, since brokers are restarted now and then; not too often in a row."""
        try:
            self._round()
        except (Overtaken, ArchiveDamaged):
            raise
        except Exception as error:
            self._failures += 1
            if self._failures > self._values["retries"]:
                raise
            self.progress.say(f"failed, and tries again in {self._values['interval']:g} s: {first_line(error)}")
        else:
            self._failures = 0

    def _round(self) -> None:
        self.log.recover()
        self._to_the_end()
        self._compact()

    def _to_the_end(self) -> None:
        whole = self._plan()
        if whole.begun:
            begin(self.log, whole)
        remaining = whole.ranges
        self.progress.begin(starts(remaining), whole.ends)
        self.progress.observe(self.log.state.offsets, whole.ends)
        with self._looking(whole):
            self._append_all(whole, remaining)

    def _append_all(self, whole: Plan, remaining: Ranges) -> None:
        while remaining:
            self.progress.doing = f"commit {self.log.state.number + 1}"
            piece = first_piece(remaining, self._values["max_records"])
            entry = append(self._spark, self._cluster, self.log, replace(whole, ranges=piece), self._layout)
            # A gap belongs to the first batch behind it.
            whole = replace(whole, gaps={})
            self.progress.batch(sum(file.rows for file in entry.add), self.log.state.offsets, whole.ends)
            if self._values["group"]:
                self._cluster.commit(self._values["group"], self.log.state.offsets)
            remaining = ranges_between(merged(starts(remaining), self.log.state.offsets), ends(remaining))

    def _looking(self, whole: Plan) -> Any:
        """A look at where the topics end by now, if somebody sees it."""
        if not self.progress.draws or not whole.ends:
            return nullcontext()
        return Watch(follow_ends(self._cluster, self.progress, whole.ends, self._layout.isolation))

    def _plan(self) -> Plan:
        topics = self._cluster.topics(self._values["topics"], self._values["pattern"])
        if not topics:
            raise PipelineError(f"no topic matches {self._values['pattern']!r}")
        found = plan(self._cluster, self.log, topics, self._layout.isolation, start=self._values["start"])
        if found.gaps and not self._values["allow_gaps"]:
            raise PipelineError(
                f"{_said(found.gaps)} were deleted before they were archived: --allow-gaps goes on without"
            )
        return found

    def _compact(self) -> None:
        if not self._values["compact_files"]:
            return
        small = self._values["small_file_mebibytes"] * MEBIBYTE
        for files in due(self.log.state, self._values["compact_files"], small):
            self.progress.doing = f"making one file of {len(files)}"
            compact(self._spark, self.log, files, self._layout)
            self.progress.say(f"{len(files)} files of {files[0].folder} are one now")

    def _rows(self) -> int:
        return sum(file.rows for file in self.log.state.files.values())


def _said(gaps: Ranges) -> str:
    return ", ".join(
        f"offsets {start} to {end - 1} of {topic}-{number}"
        for topic, each in sorted(gaps.items())
        for number, (start, end) in sorted(each.items())
    )
