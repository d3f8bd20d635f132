"""Fetches what Spark needs beside itself as jars through Maven: `python -m tools.reference.spark [NAME...]`.

The versions are those of the pinned pyspark; later connectors need a jar that Maven Central has not got. What pyspark
brings itself (Hadoop, Scala, Netty, codecs, logging) is left out.
"""

import argparse
from collections.abc import Iterable

from tools.reference.maven import Jars, install_or_exit

SPARK_VERSION = "4.0.0"
HADOOP_VERSION = "3.4.1"
"""The one inside pyspark."""
AWS_VERSION = "2.24.12"
"""Near the one that this Hadoop was made with, 2.24.6, which lacks a module."""
DELTA_VERSION = "4.0.0"
ICEBERG_VERSION = "1.10.2"

CONNECTOR = Jars(
    name="spark-kafka",
    version=SPARK_VERSION,
    artifacts=(("org.apache.spark", "spark-sql-kafka-0-10_2.13", SPARK_VERSION),),
    announcement=f"Spark's Kafka connector {SPARK_VERSION} from Maven (about 10 MB the first time)",
    excluded=(
        "org.apache.hadoop",
        "org.scala-lang",
        "org.scala-lang.modules",
        "org.lz4",
        "org.xerial.snappy",
        "org.slf4j",
        "com.google.code.findbugs",
    ),
)
# Hadoop asks for all of Amazon's clients in one jar of 558 MB. The modules that it really uses are 10 MB.
S3 = Jars(
    name="spark-s3",
    version=HADOOP_VERSION,
    artifacts=(
        ("org.apache.hadoop", "hadoop-aws", HADOOP_VERSION),
        ("org.apache.spark", "spark-hadoop-cloud_2.13", SPARK_VERSION),
        *(("software.amazon.awssdk", name, AWS_VERSION) for name in ("s3", "s3-transfer-manager", "sts")),
    ),
    announcement=f"Hadoop's S3 client {HADOOP_VERSION} from Maven (about 10 MB the first time)",
    excluded=(
        "software.amazon.awssdk:bundle",
        *(f"org.apache.hadoop:hadoop-{name}" for name in ("annotations", "azure", "azure-datalake", "client-api")),
        *(f"org.apache.hadoop:hadoop-{name}" for name in ("client-runtime", "cloud-storage", "common")),
        "com.fasterxml.jackson.core",
        "com.fasterxml.jackson.datatype",
        "com.fasterxml.jackson.dataformat",
        "com.google.cloud.bigdataoss",
        "com.google.guava",
        "com.squareup.okhttp3",
        "com.squareup.okio",
        "commons-codec",
        "commons-logging",
        "io.netty",
        "joda-time",
        "org.apache.httpcomponents",
        "org.eclipse.jetty",
        "org.scala-lang",
        "org.slf4j",
        "org.wildfly.openssl",
    ),
)
DELTA = Jars(
    name="spark-delta",
    version=DELTA_VERSION,
    artifacts=(("io.delta", "delta-spark_2.13", DELTA_VERSION),),
    announcement=f"Delta Lake {DELTA_VERSION} from Maven (about 8 MB the first time)",
    excluded=("org.antlr", "org.scala-lang", "org.apache.spark"),
)
ICEBERG = Jars(
    name="spark-iceberg",
    version=ICEBERG_VERSION,
    artifacts=(("org.apache.iceberg", "iceberg-spark-runtime-4.0_2.13", ICEBERG_VERSION),),
    announcement=f"Iceberg {ICEBERG_VERSION} from Maven (about 45 MB the first time)",
)
MORE = {"s3": S3, "delta": DELTA, "iceberg": ICEBERG}
"""What pipelines may be told to need beside the connector, by name."""


def installed(names: Iterable[str] = ()) -> bool:
    """Whether all of these are there already."""
    return all(each.installed() for each in (CONNECTOR, *(MORE[name] for name in names)))


def connector_jars(names: Iterable[str] = ()) -> list[str]:
    """The paths of the connector's jars and of those with these names, fetched now if they are not there yet."""
    chosen = (CONNECTOR, *(MORE[name] for name in names))
    return sorted(str(jar) for each in chosen for jar in each.libraries().glob("*.jar"))


def packages(names: Iterable[str] = ()) -> list[str]:
    """The same as Spark is told to fetch them itself, with all that they ask for."""
    first = {"s3": ("spark-hadoop-cloud_2.13",)}
    return [
        ":".join(artifact)
        for name, each in (("kafka", CONNECTOR), *((name, MORE[name]) for name in names))
        for artifact in each.artifacts
        if artifact[1] in first.get(name, (artifact[1],))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="spark", description="Fetch what Spark needs beside itself.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"beside the connector: {', '.join(MORE)}")
    for each in (CONNECTOR, *(MORE[name] for name in parser.parse_args().names)):
        install_or_exit(each)


if __name__ == "__main__":
    main()
