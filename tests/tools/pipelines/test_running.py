"""What all pipelines share."""

import pytest

from tools.pipelines.running import first_line

TRACE = """An error occurred while calling o1.save.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2935)
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TRACE, "org.apache.spark.SparkException: Job aborted due to stage failure"),
        ("simple", "simple"),
        ("", "ValueError"),
    ],
)
def test_an_error_is_one_line(text: str, wanted: str) -> None:
    assert first_line(ValueError(text)) == wanted
