"""The table of a topic in Delta Lake, by its folder.

A commit carries how far the topic is in its own metadata, and a number as Delta's transaction of an application: of two
that write the same one, Delta refuses the second or leaves it out, so that no record is written twice.
"""

import json
import re
from typing import Any

from tools.pipelines.archive.entries import ArchiveDamaged
from tools.pipelines.archive.files import COLUMNS, FOLDERS
from tools.pipelines.archive.log import Overtaken
from tools.pipelines.objects import storage_at
from tools.pipelines.tables.reached import MARK, Reached

APPLICATION = MARK
PROPERTIES = {
    # The metadata of commits is kept as long as this: by it is known how far a topic is.
    "delta.logRetentionDuration": "interval 3650 days",
    # Names of fields are whatever their producers chose, and times may be without a zone.
    "delta.columnMapping.mode": "name",
    "delta.feature.timestampNtz": "supported",
}
LOG, COMMIT = "_delta_log", re.compile(r"[0-9]{20}[.]json")


class DeltaTable:
    """A folder of Delta's. `name` is for people."""

    def __init__(self, spark: Any, path: str) -> None:
        self._spark = spark
        self._path = path
        self._storage = storage_at(spark, path)
        self.name = path

    def recover(self) -> None:
        """Nothing is left of a run that was killed but files that no commit names: VACUUM removes them."""

    def reached(self) -> Reached | None:
        """How far the topic is; None if nothing was committed."""
        if not self._exists():
            return None
        found = self._last_of_ours()
        if found is not None:
            return Reached.from_text(self.name, found[0])
        if self.frame().isEmpty():
            return None
        raise ArchiveDamaged(f"the history of {self.name} no longer says how far it is: it was not to be cut")

    def commit(self, frame: Any, reached: Reached) -> int:
        """Appends records, and says how far the topic is then, in one step; how many they were."""
        if not self._exists():
            self._create()
        writer = frame.write.format("delta").mode("append").partitionBy("date", "hour")
        writer = writer.option("mergeSchema", "true").option("userMetadata", reached.to_text())
        writer = writer.option("txnAppId", APPLICATION).option("txnVersion", reached.number)
        try:
            writer.save(self._path)
        except Exception as error:
            if "ConcurrentTransaction" in str(error):
                raise self._overtaken(reached) from None
            raise
        last = self._last_of_ours()
        if last is None or Reached.from_text(self.name, last[0]) != reached:
            raise self._overtaken(reached)
        return last[1]

    def frame(self) -> Any:
        return self._spark.read.format("delta").load(self._path)

    def _overtaken(self, reached: Reached) -> Overtaken:
        return Overtaken(
            f"commit {reached.number} of {self.name} was made by somebody else: only one may write to an archive "
            "at a time; start again to go on from there"
        )

    def _exists(self) -> bool:
        return bool(self._jvm_tables.isDeltaTable(self._spark._jsparkSession, self._path))

    @property
    def _jvm_tables(self) -> Any:
        return self._spark._jvm.io.delta.tables.DeltaTable

    def _last_of_ours(self) -> tuple[str, int] | None:
        """What our last commit says, and how many records it had. Of the log itself, the newest first: Delta's own
        history reads all of it, in a job of Spark's."""
        commits = [name for name in self._storage.names(LOG) if COMMIT.fullmatch(name)]
        for name in sorted(commits, reverse=True):
            for line in self._storage.read(f"{LOG}/{name}").splitlines():
                said = json.loads(line).get("commitInfo", {}) if line.startswith('{"commitInfo"') else {}
                if MARK in said.get("userMetadata", ""):
                    return str(said["userMetadata"]), int(said.get("operationMetrics", {}).get("numOutputRows", 0))
        return None

    def _create(self) -> None:
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES.items())
        self._spark.sql(
            f"CREATE TABLE IF NOT EXISTS delta.`{self._path}` ({COLUMNS}, {FOLDERS}) USING DELTA "
            f"PARTITIONED BY (date, hour) TBLPROPERTIES ({properties})"
        )
