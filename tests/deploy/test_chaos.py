"""The chaos scripts: each breaks the one thing, mends it, and waits until the cluster is whole. `docker`, `kubectl` and
`curl` are stand-ins here, which note what they are asked."""

import os
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "chaos"
WHOLE = '"leaderless":0,"under_min_isr":0,"under_replicated":0'
LACKING = '"leaderless":0,"under_min_isr":0,"under_replicated":7'


class Stage:
    """A folder with the stand-ins. What the cluster tells comes from a file, a line for each time that it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        self._tell = f'head -1 "{folder}/told"; [ $(wc -l < "{folder}/told") -gt 1 ] && sed -i 1d "{folder}/told"; true'
        self._stand_in("curl", self._tell)
        self._stand_in("docker", f'echo "docker $*" >> "{self.notes}"; case $1 in ps) echo id-of-it;; esac')
        kubectl = f"""echo "kubectl $*" | head -1 >> "{self.notes}"
        case "$*" in
        *jsonpath*) printf shop;;
        *"--output name"*) echo pod/shop-tidegate-0;;
        *"exec pod/"*) {self._tell};;
        *"apply --filename -"*) cat > "{folder}/applied.yaml";;
        esac"""
        self._stand_in("kubectl", kubectl)

    def _stand_in(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def run(self, script: str, *arguments: str, told: tuple[str, ...] = (LACKING, WHOLE), wait_s: int = 30) -> "Done":
        (self.folder / "told").write_text("\n".join(told) + "\n")
        environment = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "SECONDS_AWAY": "0",
            "WAIT_S": str(wait_s),
            "TIDEGATE_TOKEN": "secret",
        }
        command = [str(FOLDER / script), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        return Done(done, self.notes.read_text().splitlines() if self.notes.exists() else [])


class Done:
    """What a run came to."""

    def __init__(self, done: "subprocess.CompletedProcess[str]", asked: list[str]) -> None:
        self.code, self.text = done.returncode, done.stdout + done.stderr
        self.asked = [line for line in asked if " ps " not in line and " exec " not in line and " get " not in line]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.parametrize(
    ("action", "breaks", "mends"),
    [
        ("kill", "docker kill --signal KILL id-of-it", "docker start id-of-it"),
        ("pause", "docker pause id-of-it", "docker unpause id-of-it"),
        (
            "cut",
            "docker network disconnect tidegate_default id-of-it",
            "docker network connect --alias node-2 tidegate_default id-of-it",
        ),
    ],
)
def test_a_service_of_compose_is_broken_and_mended(stage: Stage, action: str, breaks: str, mends: str) -> None:
    done = stage.run("compose.sh", action, "node-2")
    assert (done.code, done.asked) == (0, [breaks, mends]), done.text
    assert "whole again" in done.text


def test_all_nodes_are_rolled_one_after_the_other(stage: Stage) -> None:
    done = stage.run("compose.sh", "roll")
    assert (done.code, done.asked) == (0, ["docker restart --time 30 id-of-it"] * 3), done.text


def test_a_pod_is_killed(stage: Stage) -> None:
    done = stage.run("kubernetes.sh", "kill", "shop-tidegate-1")
    assert (done.code, done.asked) == (0, ["kubectl delete pod shop-tidegate-1 --grace-period=0 --force"]), done.text


def test_a_pod_is_cut_off_by_a_policy_that_kubernetes_takes_and_that_goes_again(stage: Stage) -> None:
    done = stage.run("kubernetes.sh", "cut", "shop-tidegate-1")
    policy = yaml.safe_load((stage.folder / "applied.yaml").read_text())
    kubernetes_validate.validate(policy, "1.34", strict=True)
    assert policy["spec"]["podSelector"]["matchLabels"] == {"statefulset.kubernetes.io/pod-name": "shop-tidegate-1"}
    assert done.code == 0, done.text
    assert done.asked[-1] == "kubectl delete networkpolicy tidegate-chaos-shop-tidegate-1 --ignore-not-found"


def test_a_statefulset_is_rolled_as_kubernetes_does_it(stage: Stage) -> None:
    done = stage.run("kubernetes.sh", "roll", "shop-tidegate")
    assert done.code == 0, done.text
    assert done.asked[0] == "kubectl rollout restart statefulset/shop-tidegate"


@pytest.mark.parametrize(("script", "target"), [("compose.sh", "node-1"), ("kubernetes.sh", "shop-tidegate-0")])
def test_a_cluster_that_stays_broken_is_an_error(stage: Stage, script: str, target: str) -> None:
    done = stage.run(script, "kill", target, told=(LACKING,), wait_s=0)
    assert done.code == 1
    assert "still lack" in done.text


@pytest.mark.parametrize(("script", "arguments"), [("compose.sh", ("burn", "node-1")), ("kubernetes.sh", ("kill",))])
def test_what_cannot_be_meant_breaks_nothing(stage: Stage, script: str, arguments: tuple[str, ...]) -> None:
    done = stage.run(script, *arguments)
    assert (done.code, done.asked) == (2, [])
