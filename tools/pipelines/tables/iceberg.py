"""The table of a topic in Iceberg: in a catalog, or by its folder.

Records are appended to a branch of the run's own. Then one commit makes the branch the table and says, as a property,
how far the topic is: it fails if the table is no longer what the branch began with.
"""

from typing import Any

from tools.pipelines.archive.files import COLUMNS, FOLDERS
from tools.pipelines.archive.log import Overtaken
from tools.pipelines.tables.reached import MARK, Reached

BRANCH = "tidegate_"
MAIN = "main"
PROPERTIES = {"format-version": "2", "write.spark.accept-any-schema": "true"}
TRIES = 3


class IcebergTable:
    """A table by its name in a catalog, or by the path of its folder."""

    def __init__(self, spark: Any, place: str, *, in_catalog: bool) -> None:
        self._spark = spark
        self._jvm = spark._jvm
        self._place = place
        self._in_catalog = in_catalog
        self._folders = self._jvm.org.apache.iceberg.hadoop.HadoopTables(spark._jsc.hadoopConfiguration())
        self.name = place

    def recover(self) -> None:
        """Forget what runs that were killed had begun."""
        if not self._exists():
            return
        table = self._load()
        for branch in [str(name) for name in table.refs() if str(name).startswith(BRANCH)]:
            table.manageSnapshots().removeBranch(branch).commit()

    def reached(self) -> Reached | None:
        """How far the topic is; None if nothing was committed."""
        text = self._load().properties().get(MARK) if self._exists() else None
        return None if text is None else Reached.from_text(self.name, str(text))

    def commit(self, frame: Any, reached: Reached) -> int:
        """Appends records, and says how far the topic is then, in one step; how many they were."""
        if not self._exists():
            self._create()
        for attempt in range(TRIES):
            if not _goes_on(self._load(), reached):
                break
            branch = f"{BRANCH}{reached.run}_{reached.number}_{attempt}"
            rows = self._append(frame, branch)
            if self._publish(branch, reached):
                return rows
        raise Overtaken(
            f"commit {reached.number} of {self.name} was made by somebody else, or the table changes all the time: "
            "only one may write to an archive at a time; start again to go on from there"
        )

    def frame(self) -> Any:
        if self._in_catalog:
            return self._spark.table(self._place)
        return self._spark.read.format("iceberg").load(self._place)

    def _append(self, frame: Any, branch: str) -> int:
        snapshots = self._load().manageSnapshots()
        snapshots.createBranch(branch).commit()
        # Columns go by their names, not by their places.
        options = {"mergeSchema": "true", "check-ordering": "false"}
        if self._in_catalog:
            frame.writeTo(f"{self._place}.branch_{branch}").options(**options).append()
        else:
            writer = frame.write.format("iceberg").mode("append").option("branch", branch)
            writer.options(**options).save(self._place)
        table = self._load()
        return int(table.snapshot(branch).summary().getOrDefault("added-records", "0"))

    def _publish(self, branch: str, reached: Reached) -> bool:
        """False if somebody has changed the table since the branch began: compacted it, say."""
        table = self._load()
        if not _goes_on(table, reached):
            return self._forget(table, branch)
        transaction = table.newTransaction()
        try:
            transaction.manageSnapshots().fastForwardBranch(MAIN, branch).removeBranch(branch).commit()
            transaction.updateProperties().set(MARK, reached.to_text()).commit()
            transaction.commitTransaction()
        except Exception as error:
            told = str(error)
            if "CommitStateUnknown" in told:
                return self.reached() == reached
            if "ancestor" not in told and "CommitFailed" not in told:
                raise
            return self._forget(self._load(), branch)
        return True

    def _forget(self, table: Any, branch: str) -> bool:
        table.manageSnapshots().removeBranch(branch).commit()
        return False

    def _exists(self) -> bool:
        if self._in_catalog:
            return bool(self._spark.catalog.tableExists(self._place))
        return bool(self._folders.exists(self._place))

    def _load(self) -> Any:
        """The table as it is now."""
        if not self._in_catalog:
            return self._folders.load(self._place)
        found = self._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self._spark._jsparkSession, self._place)
        # Catalogs keep tables for a while.
        found.refresh()
        return found

    def _create(self) -> None:
        columns = f"{COLUMNS}, {FOLDERS}"
        if self._in_catalog:
            properties = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES.items())
            self._spark.sql(
                f"CREATE TABLE {self._place} ({columns}) USING iceberg PARTITIONED BY (date, hour) "
                f"TBLPROPERTIES ({properties})"
            )
            return
        kinds = self._jvm.org.apache.spark.sql.types.StructType.fromDDL(columns)
        schema = self._jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(kinds)
        layout = self._jvm.org.apache.iceberg.PartitionSpec.builderFor(schema).identity("date").identity("hour").build()
        properties = self._jvm.java.util.HashMap()
        for name, value in PROPERTIES.items():
            properties.put(name, value)
        self._folders.create(schema, layout, properties, self._place)


def _goes_on(table: Any, reached: Reached) -> bool:
    """Whether a commit is the next one of the table, as it was when it was loaded."""
    text = table.properties().get(MARK)
    number = -1 if text is None else Reached.from_text(str(table.name()), str(text)).number
    return number == reached.number - 1
