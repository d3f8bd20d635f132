"""Apicurio Registry from Maven Central, as another server of the same API: run on a free port, in memory.

It needs a Java of 21 or later, which is looked for in JAVA_HOME, on the path and where Debian has them.
"""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tools.reference.broker import free_port
from tools.reference.maven import CACHE, InstallError

VERSION = "3.3.3"
URL = f"https://repo1.maven.org/maven2/io/apicurio/apicurio-registry-app/{VERSION}/apicurio-registry-app-{VERSION}-all.tar.gz"
HOME = CACHE / f"apicurio-{VERSION}"
FIRST_JAVA = 21
READY_S, STOP_S = 180.0, 20.0


def installed() -> Path:
    """Its folder, fetched now (159 MB) if it is not there yet."""
    if not HOME.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="apicurio-download-") as work:
            archive = Path(work) / "archive.tar.gz"
            with urllib.request.urlopen(URL, timeout=60) as answer, archive.open("wb") as file:
                shutil.copyfileobj(answer, file)
            with tarfile.open(archive) as packed:
                packed.extractall(Path(work) / "unpacked", filter="data")
            (Path(work) / "unpacked").rename(HOME)
    return HOME


def java() -> str:
    """A Java that is new enough."""
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    candidates = [str(home / "bin" / "java") for home in (*homes, *sorted(Path("/usr/lib/jvm").glob("*")))]
    for candidate in [*candidates, shutil.which("java") or ""]:
        if candidate and os.access(candidate, os.X_OK) and _version(candidate) >= FIRST_JAVA:
            return candidate
    raise InstallError(f"Apicurio {VERSION} needs a Java of {FIRST_JAVA} or later")


def _version(command: str) -> int:
    told = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


@frozen
class RunningApicurio:
    """One that serves."""

    url: str
    """Of its API for Confluent's clients."""
    pid: int


@contextmanager
def apicurio() -> Iterator[RunningApicurio]:
    """A running one, empty."""
    port = free_port()
    options = ["-Xmx512m", f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1"]
    command = [java(), *options, "-jar", "quarkus-run.jar"]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=installed(), stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
            _wait(url, process)
            yield RunningApicurio(url, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/subjects", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise InstallError("Apicurio did not become ready")
