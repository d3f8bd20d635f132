"""The chart: what it makes of values is what Kubernetes takes and what the broker knows, and it refuses what cannot be
meant."""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import kubernetes_validate
import pytest
import yaml

from tidegate.config import BrokerConfig

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "tidegate"
VERSIONS = ("1.28", "1.34")
NOT_KUBERNETES_OWN = ("ServiceMonitor",)
OPEN = ("allowAnonymous=true",)
SECURED = ("tls.secret=cert", "auth.usersSecret=users", "auth.authorizer=true", "auth.superUsers={User:admin}")

WAYS = {
    "open": OPEN,
    "one node": (*OPEN, "replicas=1"),
    "secured": SECURED,
    "certificates of clients": ("tls.secret=cert", "tls.clientAuth=required"),
    "etcd elsewhere": (*SECURED, "etcd.endpoints={https://a:2379,https://b:2379}", "etcd.prefix=/shop"),
    "watched and fenced off": (*OPEN, "serviceMonitor.enabled=true", "networkPolicy.enabled=true"),
    "door over TLS": (*SECURED, "config.http\\.security\\.protocol=SSL", "serviceMonitor.enabled=true"),
    "keys and token given": (*OPEN, "config.num\\.partitions=6", "http.tokenSecret=mine"),
}


@pytest.fixture(scope="module")
def helm() -> str:
    found = shutil.which("helm", path=f"{ROOT / '.cache' / 'helm'}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("helm is not here (make setup builds it where there is Go)")
    return found


def rendered(helm: str, *values: str) -> list[dict[str, Any]]:
    done = _template(helm, *values)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def _template(helm: str, *values: str) -> "subprocess.CompletedProcess[str]":
    options = [option for value in values for option in ("--set", value)]
    command = [helm, "template", "shop", str(CHART), "--namespace", "shop", "--kube-version", "1.31.0", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def one(documents: list[dict[str, Any]], kind: str, name: str = "shop-tidegate") -> dict[str, Any]:
    (found,) = (each for each in documents if each["kind"] == kind and each["metadata"]["name"] == name)
    return found


def test_helm_finds_nothing_wrong_with_it(helm: str) -> None:
    done = subprocess.run(
        [helm, "lint", "--strict", str(CHART), "--set", *OPEN], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_kubernetes_takes_what_it_makes(helm: str, way: str) -> None:
    for document in rendered(helm, *WAYS[way]):
        if document["kind"] in NOT_KUBERNETES_OWN:
            continue
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("way", WAYS)
def test_the_broker_knows_every_key(helm: str, way: str, tmp_path: Path) -> None:
    documents = rendered(helm, *WAYS[way])
    (container,) = one(documents, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    file = tmp_path / "tidegate.toml"
    file.write_text(one(documents, "ConfigMap")["data"]["tidegate.toml"])
    environment = {
        each["name"]: each.get("value", "1").replace("$(POD_NAME)", "shop-tidegate-0") for each in container["env"]
    }
    config = BrokerConfig.load(file=file, environment=environment)
    assert config.advertised_listeners[0].host == "shop-tidegate-0.shop-tidegate-nodes.shop.svc"
    assert bool(config.settings.items("etcd.endpoints")) == (way != "one node")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((), "tls.secret"),
        (("tls.secret=cert",), "auth.usersSecret"),
        ((*OPEN, "etcd.bundled=false"), "etcd.endpoints"),
        ((*OPEN, "replica=3"), "replica"),
        ((*OPEN, "replicas=0"), "replicas"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(helm: str, values: tuple[str, ...], told: str) -> None:
    done = _template(helm, *values)
    assert done.returncode != 0
    assert told in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_nothing_runs_with_more_rights_than_it_needs(helm: str, way: str) -> None:
    sets = [each for each in rendered(helm, *WAYS[way]) if each["kind"] == "StatefulSet"]
    for pod in (each["spec"]["template"]["spec"] for each in sets):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_a_node_has_longer_to_stop_than_the_broker_takes_at_most(helm: str) -> None:
    pod = one(rendered(helm, *OPEN), "StatefulSet")["spec"]["template"]["spec"]
    most_ms = BrokerConfig.load().settings.integer("controlled.shutdown.max.wait.ms")
    waits_s = yaml.safe_load((CHART / "values.yaml").read_text())["upgrade"]["waitForReplicasSeconds"]
    assert pod["terminationGracePeriodSeconds"] > waits_s + 2 * most_ms / 1000


class Door(BaseHTTPRequestHandler):
    """Tells for a while that partitions lack replicas, and then that all is well."""

    lacking: ClassVar[list[int]] = []
    tokens: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.tokens.append(self.headers["Authorization"])
        found = {"leaderless": 0, "under_replicated": self.lacking.pop(0) if self.lacking else 0}
        body = json.dumps({"lacking": found}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not told."""


def test_a_pod_does_not_stop_before_the_others_have_copied_everything(helm: str) -> None:
    (container,) = one(rendered(helm, *OPEN), "StatefulSet")["spec"]["template"]["spec"]["containers"]
    program, option, code = container["lifecycle"]["preStop"]["exec"]["command"]
    assert (program, option) == ("python", "-c")
    Door.lacking[:], Door.tokens[:] = [3, 1], []
    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"127.0.0.1:{server.server_port}"
            moved = code.replace("127.0.0.1:8080", address)
            assert moved != code
            environment = {**os.environ, "TIDEGATE_HTTP_TOKEN": "secret"}
            subprocess.run([sys.executable, option, moved], env=environment, check=True, timeout=60)
        finally:
            server.shutdown()
            thread.join()
    assert Door.tokens == ["Bearer secret"] * 3


def test_an_operations_door_over_tls_is_asked_over_tls(helm: str) -> None:
    documents = rendered(helm, *WAYS["door over TLS"])
    (container,) = one(documents, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    probes = [container[f"{kind}Probe"]["httpGet"]["scheme"] for kind in ("liveness", "readiness", "startup")]
    assert probes == ["HTTPS"] * 3
    assert "https://127.0.0.1:8080/cluster" in container["lifecycle"]["preStop"]["exec"]["command"][2]
    (endpoint,) = one(documents, "ServiceMonitor")["spec"]["endpoints"]
    assert (endpoint["scheme"], endpoint["tlsConfig"]["serverName"]) == ("https", "shop-tidegate.shop.svc")


def test_a_node_by_itself_waits_for_nobody(helm: str) -> None:
    (container,) = one(rendered(helm, *WAYS["one node"]), "StatefulSet")["spec"]["template"]["spec"]["containers"]
    assert "lifecycle" not in container


def test_settings_that_change_start_the_nodes_anew(helm: str) -> None:
    def stamp(*values: str) -> str:
        template = one(rendered(helm, *OPEN, *values), "StatefulSet")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    assert stamp() == stamp()
    assert stamp("config.num\\.partitions=6") != stamp()
