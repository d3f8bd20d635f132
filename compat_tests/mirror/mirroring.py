"""MirrorMaker 2 between two brokers, as a process of its own, with the properties that `deploy/mirror/` gives."""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tools.reference.mirror import mirror_class_path

PROPERTIES = Path(__file__).resolve().parents[2] / "deploy" / "mirror" / "mirror.properties"
PROGRAM = "org.apache.kafka.connect.mirror.MirrorMaker"
# It is started once, and does little: what compiles and collects beside it would only cost time.
OPTIONS = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
STOP_S = 30.0


@frozen
class Mirror:
    """A running MirrorMaker."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def report(self) -> str:
        """What it complained of."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if " WARN " in line or " ERROR " in line][-40:])


@contextmanager
def mirror(settings: Mapping[str, str]) -> Iterator[Mirror]:
    """Runs for as long as the block, with `settings` over the properties that are documented."""
    with tempfile.TemporaryDirectory(prefix="compat-mirror-") as folder:
        file, log = Path(folder) / "mirror.properties", Path(folder) / "log"
        file.write_text(PROPERTIES.read_text() + "".join(f"{key}={value}\n" for key, value in settings.items()))
        command = ["java", *OPTIONS, "-cp", mirror_class_path(), PROGRAM, str(file)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            yield Mirror(process, log)
        finally:
            _stop(process)


def on_one_node() -> dict[str, str]:
    """One copy of everything, and no waiting."""
    keys = re.findall(r"^([^#=\s]+)=", PROPERTIES.read_text(), re.MULTILINE)
    quick = {key: "1" for key in keys if key.endswith(("replication.factor", "interval.seconds", "tasks.max"))}
    return {**quick, "offset.flush.interval.ms": "1000"}


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
