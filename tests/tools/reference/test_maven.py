"""Jars from Maven: fetched once, whole or not at all. Maven itself is a script here."""

import os
import threading
from pathlib import Path

import pytest

from tools.reference import maven
from tools.reference.maven import InstallError, Jars, install_or_exit

FAKE = """#!/bin/sh
echo run >> "{log}"
for word in "$@"; do case "$word" in -DoutputDirectory=*) out="${{word#-DoutputDirectory=}}";; esac; done
mkdir -p "$out" && touch "$out/one.jar" "$out/two.jar"
cp pom.xml "{log}.pom"
exit {status}
"""


@pytest.fixture
def jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Jars:
    monkeypatch.setattr(maven, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(maven, "PROJECT_ROOT", tmp_path)
    return Jars("things", "1.0", (("org.example", "thing", "1.0"),), "things", excluded=("org.unwanted",))


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a Maven that makes two jars, and a Java; first on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder, "java", "#!/bin/sh\n")
    script(folder, "mvn", FAKE.format(log=tmp_path / "runs", status=0))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def script(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def runs(tmp_path: Path) -> int:
    log = tmp_path / "runs"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_jars_are_fetched_once(jars: Jars, programs: Path, tmp_path: Path) -> None:
    assert not jars.installed()
    assert sorted(path.name for path in jars.libraries().iterdir()) == ["one.jar", "two.jar"]
    jars.libraries()
    jars.install()
    assert runs(tmp_path) == 1
    assert jars.installed()


def test_maven_is_asked_for_the_artifacts_without_what_is_there_anyway(
    jars: Jars, programs: Path, tmp_path: Path
) -> None:
    jars.install()
    pom = (tmp_path / "runs.pom").read_text()
    assert "<groupId>org.example</groupId><artifactId>thing</artifactId><version>1.0</version>" in pom
    assert "<exclusion><groupId>org.unwanted</groupId><artifactId>*</artifactId></exclusion>" in pom


def test_other_artifacts_are_another_download(jars: Jars, programs: Path, tmp_path: Path) -> None:
    jars.install()
    more = Jars("things", "1.0", (*jars.artifacts, ("org.example", "more", "2.0")), "things")
    assert not more.installed()
    more.install()
    assert more.installed()
    assert not jars.installed()
    assert runs(tmp_path) == 2


def test_a_download_that_fails_leaves_nothing(jars: Jars, programs: Path, tmp_path: Path) -> None:
    script(programs, "mvn", FAKE.format(log=tmp_path / "runs", status=7))
    with pytest.raises(InstallError, match="Maven failed with status 7"):
        jars.install()
    assert not jars.installed()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["things.lock"]


def test_two_at_once_fetch_once(jars: Jars, programs: Path, tmp_path: Path) -> None:
    threads = [threading.Thread(target=jars.install) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert runs(tmp_path) == 1


@pytest.mark.parametrize(("missing", "said"), [("java", "a JDK 17 or newer"), ("mvn", "Maven")])
def test_what_is_not_installed_is_named(
    jars: Jars, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str, said: str
) -> None:
    folder = tmp_path / "only"
    folder.mkdir()
    script(folder, "mvn" if missing == "java" else "java", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(InstallError, match=f"{missing} is not on the PATH: install {said}"):
        jars.install()
    with pytest.raises(SystemExit, match=f"error: {missing} is not on the PATH"):
        install_or_exit(jars)
