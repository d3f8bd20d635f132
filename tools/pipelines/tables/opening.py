"""Opens the archive that the options of a pipeline name: of Parquet files, or of tables."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from tools.pipelines.archive.archive import Archive
from tools.pipelines.archive.log import LOG
from tools.pipelines.archive.parquet import ParquetArchive
from tools.pipelines.objects import is_object_store, storage_at
from tools.pipelines.options import PipelineError, UsageError, Values
from tools.pipelines.storage import Storage
from tools.pipelines.tables.archive import Table, TableArchive
from tools.pipelines.tables.delta import DeltaTable
from tools.pipelines.tables.iceberg import IcebergTable

KEPT_AS = "_format.json"
PARQUET, DELTA, ICEBERG = FORMATS = ("parquet", "delta", "iceberg")
FOLDER = "topic="


@dataclass(frozen=True)
class Kind:
    """What an archive is kept as. A catalog is named with the namespace in it: `lake.kafka`."""

    format: str = PARQUET
    catalog: str | None = None

    def __str__(self) -> str:
        return self.format if self.catalog is None else f"{self.format} in the catalog {self.catalog}"

    def tables(self, spark: Any, storage: Storage) -> tuple[Callable[[str], Table], Callable[[], list[str]]]:
        """The table of a topic, and which topics have one."""
        if self.catalog is not None:
            return partial(_in_catalog, spark, self.catalog), partial(_topics_in_catalog, spark, self.catalog)
        return partial(_in_folder, spark, storage, self.format), partial(_topics_in_folders, storage)


def check(values: Values) -> None:
    """Whether the options can be meant, before Spark is started."""
    if values["catalog"] is None:
        if values["format"] == ICEBERG and is_object_store(values["archive"]):
            raise UsageError("--catalog is missing: by folders alone Iceberg's commits are not safe on an object store")
    elif values["format"] != ICEBERG:
        raise UsageError("--catalog goes with --format iceberg")


def archive_of(spark: Any, values: Values, *, make: bool = False) -> Archive:
    """The archive. Which kind of tables it is of is noted where it is made."""
    check(values)
    storage, kind = storage_at(spark, values["archive"]), Kind(values["format"], values["catalog"])
    known = _known(storage)
    if known is not None and known != kind:
        raise PipelineError(f"the archive in {storage.root} is kept as {known}, not as {kind} (--format, --catalog)")
    if kind.format == PARQUET:
        return ParquetArchive(spark, storage)
    if known is None and make:
        storage.publish(KEPT_AS, json.dumps(asdict(kind)) + "\n", "new")
    return TableArchive(spark, storage, *kind.tables(spark, storage))


def _known(storage: Storage) -> Kind | None:
    if storage.exists(KEPT_AS):
        return Kind(**json.loads(storage.read(KEPT_AS)))
    return Kind() if storage.exists(LOG) else None


def _in_folder(spark: Any, storage: Storage, kind: str, topic: str) -> Table:
    path = storage.path(f"{FOLDER}{topic}")
    return DeltaTable(spark, path) if kind == DELTA else IcebergTable(spark, path, in_catalog=False)


def _in_catalog(spark: Any, catalog: str, topic: str) -> Table:
    return IcebergTable(spark, f"{catalog}.`{topic}`", in_catalog=True)


def _topics_in_folders(storage: Storage) -> list[str]:
    return [name.removeprefix(FOLDER) for name in storage.names("") if name.startswith(FOLDER)]


def _topics_in_catalog(spark: Any, catalog: str) -> list[str]:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}")
    return sorted(row.tableName for row in spark.sql(f"SHOW TABLES IN {catalog}").collect())
