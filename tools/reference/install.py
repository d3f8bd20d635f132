"""Fetches Apache Kafka and its tools as jars through Maven: `python -m tools.reference.install`.

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

KAFKA_VERSION = "4.3.0"
ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    # The tools run without a log, the broker with one on its standard error: java.py picks.
    ("org.slf4j", "slf4j-nop", "1.7.36"),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)
PROJECT_ROOT = Path(__file__).resolve().parents[2]
KAFKA_HOME = PROJECT_ROOT / ".cache" / f"kafka-{KAFKA_VERSION}"
MARK = "installed.txt"


class InstallError(Exception):
    """The jars could not be had; the message says what to do."""


def libraries() -> Path:
    """The folder of jars, fetched now if it is not there yet."""
    if not installed():
        install()
    return KAFKA_HOME / "libs"


def installed() -> bool:
    """Whether a whole download of exactly these artifacts is there."""
    mark = KAFKA_HOME / MARK
    return mark.is_file() and mark.read_text() == _contents()


def install() -> None:
    """Downloads the jars beside their place and moves them there when complete."""
    _require("java", "a JDK 17 or newer (Debian: openjdk-17-jdk-headless)")
    _require("mvn", "Maven (Debian: maven)")
    KAFKA_HOME.parent.mkdir(parents=True, exist_ok=True)
    with _only_one_at_a_time():
        if installed():
            return
        with tempfile.TemporaryDirectory(dir=KAFKA_HOME.parent, prefix="kafka-download-") as work:
            _download(Path(work))
            (Path(work) / MARK).write_text(_contents())
            shutil.rmtree(KAFKA_HOME, ignore_errors=True)
            shutil.copytree(work, KAFKA_HOME)


def _download(work: Path) -> None:
    (work / "pom.xml").write_text(_pom())
    _say(f"fetching Apache Kafka {KAFKA_VERSION} from Maven (about 55 MB the first time)")
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
    _say(f"  {_count(work)} jars in {KAFKA_HOME.relative_to(PROJECT_ROOT)}")


@contextmanager
def _only_one_at_a_time() -> Iterator[None]:
    with (KAFKA_HOME.parent / "kafka.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield


def _pom() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version></dependency>\n"
        for group, name, version in ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>\n'
        "<groupId>tidegate</groupId><artifactId>reference</artifactId><version>1</version>\n"
        f"<dependencies>\n{dependencies}</dependencies></project>\n"
    )


def _contents() -> str:
    return "\n".join(":".join(artifact) for artifact in ARTIFACTS) + "\n"


def _count(work: Path) -> int:
    return len(list((work / "libs").glob("*.jar")))


def _require(program: str, what: str) -> None:
    if shutil.which(program) is None:
        raise InstallError(f"{program} is not on the PATH: install {what}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        install()
    except InstallError as error:
        sys.exit(f"error: {error}")
