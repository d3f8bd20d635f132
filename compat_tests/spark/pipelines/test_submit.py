"""The pipelines as programs: by spark-submit out of a bundle, far from the checkout, and as a plain command."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compat_tests.spark.reading import numbered, send, slow
from tools.pipelines.bundle import bundle
from tools.reference.spark import connector_jars

MakeTopic = Callable[..., str]
PATIENCE_S = 110


def ran(command: list[str], folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    # The Spark of this test session is not the one that is meant.
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK_", "SPARK_"))}
    return subprocess.run(
        command,
        cwd=folder,
        env={**ours, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@slow
def test_by_spark_submit(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(partitions=2)
    send(bootstrap, topic, numbered(100, partitions=2))
    code, program = bundle(tmp_path / "bundle")
    config = tmp_path / "pipelines.toml"
    config.write_text(f'[common]\nbootstrap = "{bootstrap}"\n[archive]\ntopics = ["{topic}"]\narchive = "lake"\n')
    submit = str(Path(sys.executable).with_name("spark-submit"))
    options = ["--master", "local[1]", "--driver-memory", "600m", "--conf", "spark.ui.enabled=false"]
    options += ["--jars", ",".join(connector_jars()), "--py-files", str(code), str(program)]
    done = ran([submit, *options, "archive", "--config", str(config)], tmp_path, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr[-3000:]
    assert spark.read.parquet(str(tmp_path / "lake")).count() == 100


@slow
def test_as_a_plain_command(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(10))
    command = [sys.executable, "-m", "tools.pipelines"]
    common = ["--bootstrap", bootstrap, "--archive", str(tmp_path / "lake"), "--spark", "spark.driver.memory=600m"]
    root = Path(__file__).resolve().parents[3]
    done = ran([*command, "archive", *common, "--topics", topic], root)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "10 rows" in done.stderr
    shutil.rmtree(next((tmp_path / "lake").glob("topic=*")))
    done = ran([*command, "audit", *common], root)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "10 missing (offset 0, 1, 2, 3, 4, ...)" in done.stdout
