"""PySpark jobs that a data team runs over its topics, by name.

`PIPELINES["archive"]` describes the options and runs the job; nothing of Spark is loaded before.

    pipeline = PIPELINES["archive"]
    status = pipeline.run(pipeline.values({"topics": ["orders"], "archive": "s3a://lake/orders"}))
"""

from tools.pipelines.options import Option, Pipeline
from tools.pipelines.running import GROUP, SHARED

ISOLATION = Option(
    "isolation",
    "read_committed leaves out what transactions aborted",
    default="read_committed",
    choices=("read_committed", "read_uncommitted"),
)
ARCHIVE = Option("archive", "the folder of the archive: a path, or hdfs:, s3a: and so on", required=True)
FORMAT = Option("format", "what the archive is kept as", default="parquet", choices=("parquet", "delta", "iceberg"))
CATALOG = Option("catalog", "Iceberg's catalog and namespace for the tables, as lake.topics; without, they are folders")
REGISTRY_CONFIG = Option(
    "registry-config",
    "a setting of the registry's clients, KEY=VALUE: basic.auth.user.info, bearer.auth.token, ssl.ca.location",
    kind="pairs",
)

_ALL = (
    Pipeline(
        name="archive",
        summary="topics to Parquet by date and hour, each record exactly once",
        target="tools.pipelines.archive.pipeline:run",
        options=(
            ARCHIVE,
            FORMAT,
            CATALOG,
            Option("topics", "topics to archive; may be repeated", kind="list"),
            Option("pattern", "archive all topics whose whole name matches this (Java's regular expressions)"),
            Option("follow", "go on with what comes, until stopped", kind="flag"),
            Option("interval", "seconds between two looks with --follow", kind="real", default=60.0, least=0),
            Option("retries", "failed rounds in a row that --follow forgives", kind="number", default=10, least=0),
            Option("start", "where a new topic begins", default="earliest", choices=("earliest", "latest")),
            ISOLATION,
            Option("max-records", "offsets per commit at most", kind="number", default=1_000_000, least=1),
            Option("json", "topics whose values are JSON, or *: adds a column `json`; may be repeated", kind="list"),
            Option(
                "schemas",
                "topics whose values were written by schemas of the registry, or *: adds a column `data`; "
                "may be repeated",
                kind="list",
            ),
            Option("registry", "the registry's address, as http://127.0.0.1:8081"),
            REGISTRY_CONFIG,
            Option("files-per-hour", "files per commit and hour", kind="number", default=1, least=1),
            Option("max-records-per-file", "records per file at most", kind="number", default=5_000_000, least=1),
            Option(
                "compact-files",
                "an hour with so many small files gets one instead; 0 never",
                kind="number",
                default=8,
                least=0,
            ),
            Option("small-file-mebibytes", "what counts as a small file", kind="real", default=32.0, least=0),
            Option("allow-gaps", "go on where retention was quicker than the archive", kind="flag"),
            GROUP,
            *SHARED,
        ),
    ),
    Pipeline(
        name="audit",
        summary="compares topics with their archive; ends with status 1 on a difference",
        target="tools.pipelines.audit:run",
        options=(
            ARCHIVE,
            FORMAT,
            CATALOG,
            Option("topics", "topics to compare, all of the archive if none is named; may be repeated", kind="list"),
            ISOLATION,
            Option("bucket", "offsets that are first compared as one", kind="number", default=100_000, least=1),
            Option("samples", "offsets to tell of each fault", kind="number", default=5, least=1),
            Option("report", "a file for the result as JSON"),
            GROUP,
            *SHARED,
        ),
    ),
    Pipeline(
        name="backfill",
        summary="records of an archive back into a topic, resumable, without duplicates",
        target="tools.pipelines.backfill:run",
        options=(
            ARCHIVE,
            FORMAT,
            CATALOG,
            Option("topic", "the archive's topic", required=True),
            Option("to", "the topic to write to, which must exist", required=True),
            Option("name", "identifies the job: the same name goes on where it ended (default: backfill-TOPIC-to-TO)"),
            Option("since", "records from this time on: 2026-11-16T05:00 (UTC), or epoch ms"),
            Option("until", "records before this time"),
            Option("rate", "records per second; 0 is no limit", kind="real", default=0.0, least=0),
            Option("shift-ms", "added to the timestamps", kind="number", default=0),
            Option(
                "partitioning",
                "keep the partitions, or choose them by key",
                default="keep",
                choices=("keep", "key"),
            ),
            Option(
                "producer",
                "a setting of librdkafka, KEY=VALUE, for the executors, in place of all of --kafka",
                kind="pairs",
            ),
            Option(
                "registry", "a registry to have the archive's schemas in; records name them by the ids they get there"
            ),
            REGISTRY_CONFIG,
            Option("transaction-records", "records per transaction", kind="number", default=1000, least=1),
            Option("group", "commit how far it is in the archive's topic as this group's offsets, for lag monitors"),
            *SHARED,
        ),
    ),
    Pipeline(
        name="timelines",
        summary="latency tables, stuck and slowest records, out of the events of traced records",
        target="tools.pipelines.timelines:run",
        options=(
            Option("output", "the folder for tables and report.html", required=True),
            Option("events", "the topic of the events", default="__trace_events"),
            Option("since", "events from this time on: 2026-11-16T05:00 (UTC), or epoch ms"),
            Option("until", "events before this time"),
            Option("step", "seconds of arrival that percentiles are taken of", kind="real", default=60.0, least=0.001),
            Option("stuck-seconds", "readable and untouched for so long is stuck", kind="real", default=60.0, least=0),
            Option("most", "how many stuck and how many slowest records", kind="number", default=50, least=1),
            GROUP,
            *SHARED,
        ),
    ),
    Pipeline(
        name="usage",
        summary="records, bytes, keys and skew per window, topic and partition, and the hottest keys",
        target="tools.pipelines.usage:run",
        options=(
            Option("output", "the folder for tables, checkpoint and report.html", required=True),
            Option("topics", "topics to look at; may be repeated", kind="list"),
            Option("pattern", "all topics whose whole name matches this (Java's regular expressions)"),
            Option("tenants", "tenants to add up, and their topics to look at; may be repeated", kind="list"),
            Option("window", "the length of a window", default="1 minute"),
            Option("watermark", "how late a record may come", default="10 minutes"),
            Option("hot-keys", "keys to name per window and topic", kind="number", default=20, least=1),
            Option("follow", "go on with what comes, until stopped", kind="flag"),
            Option("interval", "seconds between two micro-batches with --follow", kind="real", default=10.0, least=0),
            Option("start", "where the first run begins", default="earliest", choices=("earliest", "latest")),
            ISOLATION,
            Option("max-records", "offsets per micro-batch at most", kind="number", default=1_000_000, least=1),
            GROUP,
            *SHARED,
        ),
    ),
    Pipeline(
        name="dead-letters",
        summary="dead letters by error, origin and consumer, with samples, and a list for a redrive",
        target="tools.pipelines.dead_letters:run",
        options=(
            Option("output", "the folder for groups.json, redrive.jsonl and report.html", required=True),
            Option("topics", "dead-letter topics; may be repeated", kind="list"),
            Option(
                "pattern",
                "all topics whose whole name matches this (Java's regular expressions)",
                default=r".*\.dlq|.*[.-](dlt|DLT)|dlq[.-].*",
            ),
            Option("error", "only letters whose error matches this regular expression"),
            Option("origin", "only letters from this topic"),
            Option("since", "letters from this time on: 2026-11-16T05:00 (UTC), or epoch ms"),
            Option("until", "letters before this time"),
            Option("samples", "letters to show per group", kind="number", default=3, least=0),
            GROUP,
            *SHARED,
        ),
    ),
)
PIPELINES = {pipeline.name: pipeline for pipeline in _ALL}
