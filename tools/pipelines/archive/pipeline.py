"""The pipeline `archive`: topics to Parquet, once or for as long as it is let run.

The archive's own log is the only memory of how far it came: a batch of offsets and the files that hold it are
committed in one step, so that there is no checkpoint that could disagree with the files.
"""

import threading
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from tools.pipelines.archive.append import Layout, Plan, plan
from tools.pipelines.archive.compact import MEBIBYTE
from tools.pipelines.archive.entries import ArchiveDamaged
from tools.pipelines.archive.log import Overtaken
from tools.pipelines.kafka import Cluster
from tools.pipelines.options import OK, PipelineError, UsageError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import Ranges, ends, first_piece, merged, ranges_between, starts
from tools.pipelines.running import connected, first_line, progress_for, session_for, stopping
from tools.pipelines.tables.opening import archive_of, check
from tools.pipelines.typed.registry import Registry
from tools.pipelines.watching import Watch, follow_ends


def run(values: Values) -> int:
    """Archives what is there, and with `follow` what comes."""
    if not values["topics"] and not values["pattern"]:
        raise UsageError("--topics or --pattern is missing: which topics to archive")
    if values["schemas"] and not values["registry"]:
        raise UsageError("--registry is missing: the address of the registry that knows the schemas")
    check(values)
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
        self._cluster = cluster
        self._values = values
        self.archive = archive_of(spark, values, make=True)
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
        self.progress.say(self.archive.said())

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
        self.archive.recover()
        self._to_the_end()
        self._compact()

    def _to_the_end(self) -> None:
        whole = self._plan()
        if whole.begun:
            self.archive.begin(whole)
        remaining = whole.ranges
        self.progress.begin(starts(remaining), whole.ends)
        self.progress.observe(self.archive.state.offsets, whole.ends)
        with self._looking(whole):
            self._append_all(whole, remaining)

    def _append_all(self, whole: Plan, remaining: Ranges) -> None:
        while remaining:
            self.progress.doing = f"commit {self.archive.state.number + 1}"
            piece = first_piece(remaining, self._values["max_records"])
            rows = self.archive.append(self._cluster, replace(whole, ranges=piece), self._layout)
            # A gap belongs to the first batch behind it.
            whole = replace(whole, gaps={})
            self.progress.batch(rows, self.archive.state.offsets, whole.ends)
            if self._values["group"]:
                self._cluster.commit(self._values["group"], self.archive.state.offsets)
            remaining = ranges_between(merged(starts(remaining), self.archive.state.offsets), ends(remaining))

    def _looking(self, whole: Plan) -> Any:
        """A look at where the topics end by now, if somebody sees it."""
        if not self.progress.draws or not whole.ends:
            return nullcontext()
        return Watch(follow_ends(self._cluster, self.progress, whole.ends, self._layout.isolation))

    def _plan(self) -> Plan:
        topics = self._cluster.topics(self._values["topics"], self._values["pattern"])
        if not topics:
            raise PipelineError(f"no topic matches {self._values['pattern']!r}")
        found = plan(self._cluster, self.archive.state, topics, self._layout.isolation, start=self._values["start"])
        if found.gaps and not self._values["allow_gaps"]:
            raise PipelineError(
                f"{_said(found.gaps)} were deleted before they were archived: --allow-gaps goes on without"
            )
        return found

    def _compact(self) -> None:
        if not self._values["compact_files"]:
            return
        small = self._values["small_file_mebibytes"] * MEBIBYTE
        self.progress.doing = "making one file of many"
        for done in self.archive.tidy(self._layout, self._values["compact_files"], small):
            self.progress.say(done)


def _said(gaps: Ranges) -> str:
    return ", ".join(
        f"offsets {start} to {end - 1} of {topic}-{number}"
        for topic, each in sorted(gaps.items())
        for number, (start, end) in sorted(each.items())
    )
