"""The image: what its last stage says is run as it would be; built and run as a whole where an engine answers."""

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.tidegate.processes import run, serving

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
DATA = "/var/lib/tidegate"


def instructions() -> list[tuple[str, str]]:
    """Of the last stage: the word that each begins with, and the rest."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    last = text[text.rindex("\nFROM ") :]
    return [(word, rest.strip()) for line in last.split("\n") if line for word, _, rest in [line.partition(" ")]]


def said(word: str) -> list[str]:
    return [rest for found, rest in instructions() if found == word]


def environment() -> dict[str, str]:
    pairs = (pair.split("=", 1) for rest in said("ENV") for pair in rest.split())
    return {name: value for name, value in pairs if name.startswith("TIDEGATE_")}


def test_it_runs_as_a_user_without_rights_who_owns_nothing_but_the_data() -> None:
    assert said("USER") == ["10001:10001"]
    assert said("VOLUME") == [DATA] == [environment()["TIDEGATE_LOG_DIRS"]]
    assert said("COPY") == ["--from=build /opt/tidegate /opt/tidegate"]


def test_it_does_not_let_strangers_in_unless_it_is_told_to(tmp_path: Path) -> None:
    assert said("ENTRYPOINT") == ['["tidegate", "serve"]']
    ended = run("serve", environment=environment() | {"TIDEGATE_LOG_DIRS": str(tmp_path)})
    assert ended.code == 2
    assert "--allow-anonymous" in ended.stderr


def test_what_is_started_becomes_healthy_by_its_own_check(tmp_path: Path) -> None:
    (check,) = said("HEALTHCHECK")
    program, *arguments = json.loads(check[check.index("CMD ") + 4 :])
    given = environment() | {"TIDEGATE_LISTENERS": "PLAINTEXT://127.0.0.1:0", "TIDEGATE_HTTP_PORT": "-1"}
    with serving(tmp_path, environment=given) as broker:
        door = broker.line.split("http=")[1].split()[0]
        asked = [argument.replace("127.0.0.1:8080", door) for argument in arguments]
        assert asked != arguments
        assert program == "python"
        subprocess.run([sys.executable, *asked], check=True, timeout=30)
    assert subprocess.run([sys.executable, *asked], check=False, capture_output=True, timeout=30).returncode != 0


def _engine_answers() -> bool:
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _engine_answers(), reason="no container engine answers here")
def test_the_image_is_built_and_serves_with_a_root_that_cannot_be_written() -> None:
    run = ["docker", "run", "--rm", "--detach", "--read-only", "--cap-drop=ALL", "--publish=127.0.0.1::8080"]
    subprocess.run(["docker", "build", "--quiet", "-f", DOCKERFILE, "-t", "tidegate:test", ROOT], check=True)
    options = ["-e", "TIDEGATE_HTTP_HOST=0.0.0.0", "-e", "TIDEGATE_HTTP_TOKEN=secret"]
    made = subprocess.check_output([*run, *options, "tidegate:test", "--allow-anonymous"], text=True).strip()
    try:
        address = subprocess.check_output(["docker", "port", made, "8080"], text=True).strip()
        request = urllib.request.Request(f"http://{address}/health/live")
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200
    finally:
        subprocess.run(["docker", "stop", made], check=False, capture_output=True)
