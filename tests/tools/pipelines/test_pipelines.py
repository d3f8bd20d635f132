"""The pipelines by name: each has its command, its options and its page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.pipelines import PIPELINES
from tools.pipelines.__main__ import main
from tools.pipelines.options import FAILED, WRONG_USE, Option, Pipeline, PipelineError, Values

DOCS = Path(__file__).resolve().parents[3] / "docs" / "pipelines"
EACH = pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=lambda pipeline: pipeline.name)
ROW = re.compile(r"^\| (`[^|]+) \|([^|]*)\|", re.MULTILINE)


def told(page: str) -> dict[str, str]:
    """The options of a page's tables with their defaults."""
    found = {}
    for names, default in ROW.findall(page.partition("| option | default |")[2]):
        for name in re.findall(r"`([^`]+)`", names):
            found[name] = default.strip()
    return found


def shown(option: Option) -> set[str]:
    """How a page may tell of a default."""
    if option.required:
        return {"required"}
    if option.kind == "flag":
        return {"false"}
    if isinstance(option.default, int | float):
        return {
            f"{option.default:,g}" if isinstance(option.default, float) else f"{option.default:,}",
            str(option.default),
        }
    return {f"`{option.default}`"} if option.default else {""}


@EACH
def test_a_page_tells_of_every_option_and_of_no_other(pipeline: Pipeline) -> None:
    options = told((DOCS / f"{pipeline.name}.md").read_text())
    common = told((DOCS / "index.md").read_text())
    assert set(options) | set(common) == {option.name for option in pipeline.options}


# What a page says in other words than the code: a name made of others, a regular expression, "all".
IN_WORDS = {("backfill", "name"), ("dead-letters", "pattern"), ("audit", "topics")}


@EACH
def test_a_page_tells_the_defaults(pipeline: Pipeline) -> None:
    page = (DOCS / f"{pipeline.name}.md").read_text()
    options = {**told((DOCS / "index.md").read_text()), **told(page)}
    wrong = {
        option.name: options[option.name]
        for option in pipeline.options
        if options[option.name] not in shown(option) and (pipeline.name, option.name) not in IN_WORDS
    }
    assert wrong == {}


@EACH
def test_the_list_of_pages_names_it(pipeline: Pipeline) -> None:
    assert f"| [{pipeline.name}]({pipeline.name}.md) | {pipeline.summary} |" in (DOCS / "index.md").read_text()


@EACH
def test_whoever_reads_topics_can_be_seen_by_lag_monitors(pipeline: Pipeline) -> None:
    assert "group" in [option.name for option in pipeline.options]


@EACH
def test_help(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([pipeline.name, "--help"])
    assert ended.value.code == 0
    written = capsys.readouterr().out
    assert all(f"--{option.name}" in written for option in pipeline.options)


@EACH
def test_the_function_is_there(pipeline: Pipeline) -> None:
    assert callable(pipeline.load())


def test_options_that_make_no_sense_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive"]) == WRONG_USE
    assert capsys.readouterr().err == (
        "archive: --archive is missing: the folder of the archive: a path, or hdfs:, s3a: and so on\n"
    )


def test_secrets_are_not_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(self: Pipeline, values: Values) -> int:
        raise PipelineError(f"the broker did not like {values['kafka']}")

    monkeypatch.setattr(Pipeline, "run", fail)
    settings = {"sasl.jaas.config": 'PlainLoginModule password="open sesame";', "client.id": "me"}
    assert main(["audit", "--archive", "x"], below={"kafka": settings}) == FAILED
    written = capsys.readouterr().err
    assert "sesame" not in written
    assert "[hidden]" in written
    assert "me" in written
    assert main(["audit", "--archive", "x", "--kafka", "=sesame"]) == WRONG_USE
    assert "sesame" not in capsys.readouterr().err


def test_listing_pipelines_loads_no_spark() -> None:
    program = "import sys, tools.pipelines; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
