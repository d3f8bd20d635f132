"""The pipelines as programs: by spark-submit out of a bundle, far from the checkout, and as a command in a terminal."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.spark.environment import QUICK, environment
from compat_tests.spark.reading import numbered, send, slow
from tools.pipelines.bundle import bundle
from tools.reference.spark import connector_jars

MakeTopic = Callable[..., str]
PATIENCE_S = 240
TIMEOUT_S = 300  # on a busy machine a Spark takes a minute to start
ROOT = Path(__file__).resolve().parents[3]
SMALL = ["--spark", "spark.driver.memory=600m", "--spark", "spark.master=local[2]"]
SMALL += ["--spark", "spark.sql.shuffle.partitions=2", "--spark", "spark.sql.codegen.wholeStage=false"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def ran(command: list[str], folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def ran_in_a_terminal(command: list[str], folder: Path) -> tuple[int, str, str]:
    """Status, standard output (which is no terminal) and what was drawn on the terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(TERM="xterm-256color", COLUMNS="110", PYTHONPATH=str(ROOT)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    drawn = bytearray()

    def read() -> None:
        try:
            while piece := os.read(ours, 65536):
                drawn.extend(piece)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    try:
        output, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        reader.join(PATIENCE_S)
        os.close(ours)
    return process.returncode, output, drawn.decode()


@pytest.mark.timeout(TIMEOUT_S)
def test_by_spark_submit(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(partitions=2)
    send(bootstrap, topic, numbered(100, partitions=2))
    code, program = bundle(tmp_path / "bundle")
    config = tmp_path / "pipelines.toml"
    config.write_text(f'[common]\nbootstrap = "{bootstrap}"\n[archive]\ntopics = ["{topic}"]\narchive = "lake"\n')
    submit = str(Path(sys.executable).with_name("spark-submit"))
    options = ["--master", "local[2]", "--driver-memory", "600m", "--driver-java-options", QUICK]
    options += ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]
    options += ["--jars", ",".join(connector_jars()), "--py-files", str(code), str(program)]
    done = ran([submit, *options, "archive", "--config", str(config)], tmp_path, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "archive 100 rows" in done.stdout  # where spark-submit puts all that a program says
    assert spark.read.parquet(str(tmp_path / "lake")).count() == 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "lake", "pipelines.toml"]


@pytest.mark.timeout(TIMEOUT_S)
def test_in_a_terminal_progress_is_drawn(
    spark: Any, bootstrap: str, make_topic: MakeTopic, topic_name: str, tmp_path: Path
) -> None:
    topics = [make_topic(partitions=2), make_topic()]
    send(bootstrap, topics[0], numbered(100, partitions=2))
    send(bootstrap, topics[1], numbered(50))
    tidegate = [sys.executable, "-m", "tidegate", "--bootstrap", bootstrap]
    options = ["--topics", ",".join(topics), "--archive", "lake", "--group", topic_name, "--max-records", "80"]
    status, output, drawn = ran_in_a_terminal([*tidegate, "pipeline", "archive", *options, *SMALL], tmp_path)
    assert status == 0, drawn[-3000:]
    assert output == ""
    lines = ESCAPES.sub("", drawn.replace("\r", "\n")).splitlines()
    assert any(line.split()[:5] == ["topic", "offset", "end", "behind", "rows/s"] for line in lines)
    behind = [int(line.split()[3].replace(",", "")) for line in lines if line.startswith(topics[0])]
    assert behind[0] == 100  # known before the first batch
    assert behind[-1] == 0
    assert len(set(behind)) > 2  # and drawn in between
    assert "150 rows" in drawn
    assert drawn.rfind("\x1b[?25h") > drawn.rfind("\x1b[?25l")  # the cursor is back
    # Nothing is left in the folder but what was asked for.
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
    lag = ran([*tidegate, "group", "lag", topic_name, "--output", "json"], tmp_path, PYTHONPATH=str(ROOT))
    told = {(row["topic"], row["lag"]) for row in json.loads(lag.stdout)["offsets"]}
    assert told == {(topic, 0) for topic in topics}


@slow
@pytest.mark.timeout(TIMEOUT_S)
def test_as_a_plain_command(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(10))
    command = [sys.executable, "-m", "tools.pipelines"]
    common = ["--bootstrap", bootstrap, "--archive", str(tmp_path / "lake"), *SMALL]
    done = ran([*command, "archive", *common, "--topics", topic], ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "10 rows" in done.stderr
    shutil.rmtree(next((tmp_path / "lake").glob("topic=*")))
    done = ran([*command, "audit", *common], ROOT)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "10 missing (offset 0, 1, 2, 3, 4, ...)" in done.stdout
    assert not (ROOT / "artifacts").exists()
