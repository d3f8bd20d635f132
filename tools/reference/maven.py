"""Jars from Maven Central, fetched once into a folder of their own.

A finished download leaves a mark that names what it holds, so that a second call costs nothing and a
torn or outdated one is done again.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path

from attrs import frozen

PROJECT_ROOT = Path(__file__).resolve().parents[2]
CACHE = PROJECT_ROOT / ".cache"
MARK = "installed.txt"


class InstallError(Exception):
    """The jars could not be had; the message says what to do."""


@frozen
class Jars:
    """Artifacts (group, name, version) with what they need, but for what is there anyway: GROUP, or GROUP:NAME."""

    name: str
    version: str
    artifacts: tuple[tuple[str, str, str], ...]
    announcement: str
    excluded: tuple[str, ...] = ()

    @property
    def home(self) -> Path:
        return CACHE / f"{self.name}-{self.version}"

    def libraries(self) -> Path:
        """The folder of jars, fetched now if it is not there yet."""
        if not self.installed():
            self.install()
        return self.home / "libs"

    def installed(self) -> bool:
        """Whether a whole download of exactly these artifacts is there."""
        mark = self.home / MARK
        return mark.is_file() and mark.read_text() == self._contents()

    def install(self) -> None:
        """Downloads the jars beside their place and moves them there when complete."""
        _require("java", "a JDK 17 or newer (Debian: openjdk-17-jdk-headless)")
        _require("mvn", "Maven (Debian: maven)")
        CACHE.mkdir(parents=True, exist_ok=True)
        with self._only_one_at_a_time():
            if self.installed():
                return
            with tempfile.TemporaryDirectory(dir=CACHE, prefix=f"{self.name}-download-") as work:
                self._download(Path(work))
                (Path(work) / MARK).write_text(self._contents())
                shutil.rmtree(self.home, ignore_errors=True)
                shutil.copytree(work, self.home)

    def _download(self, work: Path) -> None:
        (work / "pom.xml").write_text(self._pom())
        _say(f"fetching {self.announcement}")
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={work / 'libs'}"]
        maven = subprocess.Popen(command, cwd=work, stdout=sys.stderr, stderr=sys.stderr)
        while True:
            try:
                status = maven.wait(timeout=5)
                break
            except subprocess.TimeoutExpired:
                _say(f"  {_count(work)} jars so far")
        if status != 0:
            raise InstallError(f"Maven failed with status {status}: its own messages above say why")
        _say(f"  {_count(work)} jars in {self.home.relative_to(PROJECT_ROOT)}")

    @contextmanager
    def _only_one_at_a_time(self) -> Iterator[None]:
        with (CACHE / f"{self.name}.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            yield

    def _pom(self) -> str:
        exclusions = "".join(
            f"<exclusion><groupId>{group}</groupId><artifactId>{name or '*'}</artifactId></exclusion>"
            for group, _, name in (each.partition(":") for each in self.excluded)
        )
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{version}</version><exclusions>{exclusions}</exclusions></dependency>\n"
            for group, name, version in self.artifacts
        )
        return (
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>\n'
            "<groupId>tidegate</groupId><artifactId>reference</artifactId><version>1</version>\n"
            f"<dependencies>\n{dependencies}</dependencies></project>\n"
        )

    def _contents(self) -> str:
        return "\n".join(":".join(artifact) for artifact in self.artifacts) + "\n"


def install_or_exit(jars: Jars) -> None:
    """What a program does that is there to install."""
    try:
        jars.install()
    except InstallError as error:
        sys.exit(f"error: {error}")


def _count(work: Path) -> int:
    return len(list((work / "libs").glob("*.jar")))


def _require(program: str, what: str) -> None:
    if shutil.which(program) is None:
        raise InstallError(f"{program} is not on the PATH: install {what}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
