"""The pipelines on Kubernetes: what spark-submit is given there is what Kubernetes takes and what Spark knows."""

import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import kubernetes_validate
import pyspark
import pytest
import yaml

from tools.pipelines import PIPELINES
from tools.reference.spark import SPARK_VERSION

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "spark"
VERSIONS = ("1.28", "1.34")
JARS = Path(pyspark.__file__).parent / "jars"
KUBERNETES = f"spark-kubernetes_2.13-{SPARK_VERSION}.jar"
CORE = f"spark-core_2.13-{SPARK_VERSION}.jar"
DEPLOY = "org/apache/spark/deploy"


def documents(name: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all((FOLDER / name).read_text()) if each]


def settings() -> dict[str, str]:
    lines = [line for line in (FOLDER / "kubernetes.conf").read_text().splitlines() if line and line[0] != "#"]
    return dict(line.split() for line in lines)


def pod(name: str) -> dict[str, Any]:
    (found,) = documents(name)
    spec: dict[str, Any] = found["spec"]
    return spec


def known(jar: str, *classes: str) -> bytes:
    """The constants of some of Spark's own classes."""
    with zipfile.ZipFile(JARS / jar) as archive:
        return b"\n".join(archive.read(f"{each}.class") for each in classes)


@pytest.mark.parametrize("name", ["driver.yaml", "executor.yaml", "rights.yaml"])
@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_it(name: str, version: str) -> None:
    assert documents(name)
    for document in documents(name):
        kubernetes_validate.validate(document, version, strict=True)


def test_spark_knows_every_setting() -> None:
    package = "org/apache/spark/internal/config"
    constants = known(KUBERNETES, f"{DEPLOY}/k8s/Config$", f"{DEPLOY}/k8s/KubernetesConf")
    constants += known(CORE, f"{package}/package$", f"{package}/UI$")

    def is_known(name: str) -> bool:
        # Some are made of a prefix and what stands behind it.
        return all(part.encode() in constants for part in name.rsplit(".", 1)) or name.encode() in constants

    assert [name for name in settings() if not is_known(name)] == []
    assert not is_known("spark.kubernetes.driver.podTemplateFiles")


def test_settings_templates_and_rights_name_the_same_things() -> None:
    told = settings()
    for role in ("driver", "executor"):
        template = ROOT / told[f"spark.kubernetes.{role}.podTemplateFile"]
        (container,) = pod(template.name)["containers"]
        assert container["name"] == told[f"spark.kubernetes.{role}.podTemplateContainerName"]
    account = told["spark.kubernetes.authenticate.driver.serviceAccountName"]
    for document in documents("rights.yaml")[1:]:
        assert document["metadata"] == {"name": account, "namespace": told["spark.kubernetes.namespace"]}


@pytest.mark.parametrize("name", ["driver.yaml", "executor.yaml"])
def test_nothing_runs_with_more_rights_than_it_needs(name: str) -> None:
    spec = pod(name)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in spec["volumes"]}
    user = re.search(r"^USER (\d+):(\d+)$(?!.*^USER)", (FOLDER / "Dockerfile").read_text(), re.MULTILINE | re.DOTALL)
    assert user is not None
    assert (str(spec["securityContext"]["runAsUser"]), str(spec["securityContext"]["runAsGroup"])) == user.groups()


def test_secrets_are_the_drivers_alone() -> None:
    assert any("secret" in volume for volume in pod("driver.yaml")["volumes"])
    assert not any("secret" in volume for volume in pod("executor.yaml")["volumes"])
    assert pod("executor.yaml")["automountServiceAccountToken"] is False


def test_the_image_holds_the_spark_that_the_jars_are_of() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    assert f"FROM spark:{SPARK_VERSION}-scala2.13-" in text
    place = settings()["spark.submit.pyFiles"].removeprefix("local://")
    assert f"COPY pipelines.zip pipeline.py {Path(place).parent}/" in text


def test_the_pipelines_understand_the_example_of_their_options() -> None:
    file = FOLDER / "pipelines.toml"
    assert set(tomllib.loads(file.read_text())) <= {"common", *PIPELINES}
    values = PIPELINES["archive"].values({}, str(file))
    assert values["topics"] == ["orders", "payments"]
    assert values["archive"].startswith("s3a://")
    assert PIPELINES["audit"].values({}, str(file))["archive"] == values["archive"]
