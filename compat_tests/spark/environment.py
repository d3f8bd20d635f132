"""What programs with a Spark of their own are started with."""

import os

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that live for seconds."""


def environment(**more: str) -> dict[str, str]:
    """This process's own, without what it says about the Spark of this test session."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK_", "SPARK_"))}
    return {**ours, **more}
