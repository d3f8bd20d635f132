"""The Parquet files of an archive: written to the staging folder, described, and read again."""

from typing import Any
from urllib.parse import unquote

from tools.pipelines.archive.entries import File, Part
from tools.pipelines.archive.log import ArchiveLog

COLUMNS = (
    "partition INT, offset BIGINT, timestamp TIMESTAMP, timestamp_type INT, key BINARY, value BINARY, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
FOLDERS = "topic STRING, date STRING, hour STRING"
# A null and an empty text must not look alike, nor a null key and a null value.
RECORD_HASH = "xxhash64(partition, offset, timestamp, timestamp_type, key, value, headers, key IS NULL, value IS NULL)"


def laid_out(records: Any) -> Any:
    """The columns of a file and of its folders, from those of Spark's source. The hour is UTC's."""
    return records.selectExpr(
        "topic",
        "date_format(timestamp, 'yyyy-MM-dd') AS date",
        "date_format(timestamp, 'HH') AS hour",
        "partition",
        "offset",
        "timestamp",
        "timestampType AS timestamp_type" if "timestampType" in records.columns else "timestamp_type",
        "key",
        "value",
        "headers",
        *(name for name in ("json", "data") if name in records.columns),
    )


def spread(records: Any, files_per_hour: int) -> Any:
    """Records laid out by topic, date and hour in as many tasks as there shall be files, each in order of partition and
    offset."""
    salted = records.repartition("topic", "date", "hour", (records["partition"] % files_per_hour))
    return salted.sortWithinPartitions("topic", "date", "hour", "partition", "offset")


def write(records: Any, folder: str, files_per_hour: int, max_records_per_file: int) -> None:
    """Writes records that are laid out by topic, date and hour."""
    writer = spread(records, files_per_hour).write.mode("append").partitionBy("topic", "date", "hour")
    writer.option("maxRecordsPerFile", max_records_per_file).parquet(folder)


def describe(spark: Any, log: ArchiveLog, number: int) -> tuple[File, ...]:
    """What was written for a commit, read from the files themselves, with the names they will have."""
    staging = log.staging(number)
    sizes = {name: size for name, size in log.storage.files(staging).items() if name.endswith(".parquet")}
    if not sizes:
        return ()
    names = sorted(sizes)
    written = spark.read.schema(f"{COLUMNS}, {FOLDERS}").parquet(log.storage.path(staging))
    held = holdings(written, names)
    return tuple(
        File(
            path=f"{name.removeprefix(staging + '/').rpartition('/')[0]}/{number:010d}-{index:04d}.parquet",
            topic=held[name][0],
            bytes=sizes[name],
            parts=held[name][1],
            staged=name,
        )
        for index, name in enumerate(names)
    )


def holdings(records: Any, names: list[str]) -> dict[str, tuple[str, dict[int, Part]]]:
    """What files really hold: the topic, and the parts of its partitions, by the files' names."""
    from pyspark.sql import functions

    named = records.selectExpr("*", "_metadata.file_path AS file", f"{RECORD_HASH} AS hash")
    found = named.groupBy("file", "topic", "partition").agg(
        functions.min("offset").alias("first"),
        functions.max("offset").alias("last"),
        functions.count("*").alias("rows"),
        functions.bit_xor("hash").alias("checksum"),
    )
    held: dict[str, tuple[str, dict[int, Part]]] = {}
    depth = names[0].count("/") + 1  # all of them lie equally deep
    for row in found.collect():
        _, parts = held.setdefault(_relative(row.file, depth), (row.topic, {}))
        parts[row.partition] = Part(row["first"], row["last"], row["rows"], f"{row.checksum & (2**64 - 1):016x}")
    return held


def _relative(file: str, depth: int) -> str:
    """The name of a file of which Spark tells the full path, as an address with escapes."""
    return "/".join(unquote(file).split("/")[-depth:])


def read(spark: Any, log: ArchiveLog, paths: list[str]) -> Any:
    """The records of some files of the archive, with `topic`, `date` and `hour`."""
    schema = f"{COLUMNS}, {FOLDERS}"
    if not paths:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).option("basePath", log.storage.root)
    return reader.parquet(*[log.storage.path(path) for path in paths])
