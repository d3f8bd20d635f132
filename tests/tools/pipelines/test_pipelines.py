"""The pipelines by name: each has its command, its options and its page."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.pipelines import PIPELINES
from tools.pipelines.__main__ import main
from tools.pipelines.options import WRONG_USE, Pipeline

DOCS = Path(__file__).resolve().parents[3] / "docs" / "pipelines"
EACH = pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=lambda pipeline: pipeline.name)


@EACH
def test_a_page_tells_of_every_option(pipeline: Pipeline) -> None:
    page = (DOCS / f"{pipeline.name}.md").read_text()
    common = (DOCS / "index.md").read_text()
    missing = [option.name for option in pipeline.options if f"`{option.name}`" not in page + common]
    assert missing == []


@EACH
def test_help(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([pipeline.name, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(f"--{option.name}" in told for option in pipeline.options)


@EACH
def test_the_function_is_there(pipeline: Pipeline) -> None:
    assert callable(pipeline.load())


def test_options_that_make_no_sense_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive"]) == WRONG_USE
    assert capsys.readouterr().err == (
        "archive: --archive is missing: the folder of the archive: a path, or hdfs:, s3a: and so on\n"
    )


def test_listing_pipelines_loads_no_spark() -> None:
    program = "import sys, tools.pipelines; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
