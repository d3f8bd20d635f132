"""Options of pipelines: from callers, from files, with errors that name the option."""

from pathlib import Path
from typing import Any

import pytest

from tools.pipelines import PIPELINES
from tools.pipelines.options import Option, Pipeline, UsageError

PIPELINE = Pipeline(
    "copy",
    "copies",
    "json:dumps",
    (
        Option("topics", "which topics", kind="list", required=True),
        Option("max-records", "how many", kind="number", default=10, least=1),
        Option("mode", "how", default="slow", choices=("slow", "quick")),
        Option("follow", "go on", kind="flag"),
        Option("kafka", "settings", kind="pairs"),
        Option("rate", "per second", kind="real"),
    ),
)


def test_defaults() -> None:
    assert PIPELINE.values({"topics": ["a"], "follow": None}) == {
        "topics": ["a"],
        "max_records": 10,
        "mode": "slow",
        "follow": False,
        "kafka": {},
        "rate": None,
    }


def test_texts_are_understood() -> None:
    values = PIPELINE.values({"topics": ["a,b", "c"], "max_records": "5", "kafka": ["x=1", "y=a=b"], "rate": "0.5"})
    assert values["topics"] == ["a", "b", "c"]
    assert values["max_records"] == 5
    assert values["kafka"] == {"x": "1", "y": "a=b"}
    assert values["rate"] == 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "--topics is missing: which topics"),
        ({"topics": "a", "max_records": "many"}, "--max-records is 'many': a whole number is expected"),
        ({"topics": "a", "max_records": 0}, "--max-records is 0: it must be at least 1"),
        ({"topics": "a", "mode": "odd"}, "--mode is 'odd': it takes slow or quick"),
        ({"topics": "a", "kafka": ["x"]}, "--kafka cannot be taken apart: KEY=VALUE is expected"),
        ({"topics": "a", "color": "red"}, "copy has no option 'color'"),
    ],
)
def test_nonsense_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        PIPELINE.values(given)
    assert str(refused.value) == message


def test_a_file_comes_after_what_is_given_and_before_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "pipelines.toml"
    file.write_text(
        'common.mode = "quick"\ncommon.of-others = 1\n[copy]\ntopics = ["a"]\nmax-records = 3\nkafka = { x = 1 }\n'
    )
    values = PIPELINE.values({"max_records": 4}, str(file))
    assert (values["topics"], values["max_records"], values["mode"]) == (["a"], 4, "quick")
    assert values["kafka"] == {"x": "1"}


def test_an_unknown_key_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pipelines.toml"
    file.write_text('[copy]\ntopics = ["a"]\ntopic = "b"\n')
    with pytest.raises(UsageError, match="no option 'topic'"):
        PIPELINE.values({}, str(file))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        PIPELINE.values({}, str(tmp_path / "none.toml"))


def test_the_target_is_loaded_when_it_is_run() -> None:
    import json

    assert PIPELINE.load() is json.dumps


def test_what_a_profile_says_comes_last_and_pairs_are_joined(tmp_path: Path) -> None:
    pipeline = PIPELINES["backfill"]
    config = tmp_path / "p.toml"
    config.write_text(
        '[common]\nkafka = { "client.id" = "file" }\n[backfill]\narchive = "lake"\ntopic = "a"\nto = "b"\n'
    )
    below = {"bootstrap": "profile:1", "kafka": {"client.id": "profile", "security.protocol": "SSL"}, "unknown": 1}
    values = pipeline.values({"producer": ["linger.ms=5"]}, str(config), below)
    assert values["bootstrap"] == "profile:1"
    assert values["kafka"] == {"client.id": "file", "security.protocol": "SSL"}
    assert values["producer"] == {"linger.ms": "5"}
    assert pipeline.values({"bootstrap": "given:1"}, str(config), below)["bootstrap"] == "given:1"
