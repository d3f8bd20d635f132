"""Fetches Spark's Kafka connector as jars through Maven: `python -m tools.reference.spark`.

The versions are those of the pinned pyspark; later connectors need a jar that Maven Central has not got. What pyspark
brings itself (Hadoop, Scala, codecs, logging) is left out.
"""

from tools.reference.maven import Jars, install_or_exit

SPARK_VERSION = "4.0.0"
CONNECTOR = Jars(
    name="spark-kafka",
    version=SPARK_VERSION,
    artifacts=(("org.apache.spark", "spark-sql-kafka-0-10_2.13", SPARK_VERSION),),
    announcement=f"Spark's Kafka connector {SPARK_VERSION} from Maven (about 10 MB the first time)",
    excluded_groups=(
        "org.apache.hadoop",
        "org.scala-lang",
        "org.scala-lang.modules",
        "org.lz4",
        "org.xerial.snappy",
        "org.slf4j",
        "com.google.code.findbugs",
    ),
)


def connector_jars() -> list[str]:
    """The jars' paths, fetched now if they are not there yet."""
    return sorted(str(jar) for jar in CONNECTOR.libraries().glob("*.jar"))


if __name__ == "__main__":
    install_or_exit(CONNECTOR)
