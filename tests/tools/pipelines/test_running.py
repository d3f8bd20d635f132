"""What all pipelines share."""

import os
import signal

import pytest

from tools.pipelines.running import first_line, hidden, one_line, stopping

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


def test_what_is_secret_is_hidden() -> None:
    values = {"kafka": {"sasl.password": "sesame", "client.id": "me"}, "topics": ["sesame"]}
    assert hidden("me and sesame", values) == "me and [hidden]"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_is_asked_for_once_and_then_demanded(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopping() as asked:
        assert not asked.is_set()
        os.kill(os.getpid(), number)
        assert asked.wait(5)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_no_text_of_a_client_begins_a_line() -> None:
    assert one_line("a\n  19  Fine\x1b[2K") == "a\\n  19  Fine\\x1b[2K"
