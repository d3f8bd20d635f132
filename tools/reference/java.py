"""Runs Kafka's own Java programs: `java_tool("TopicCommand", "--list", ...)`."""

import functools
import subprocess
from pathlib import Path

from tools.reference.install import libraries

# A tool lives for a second: the second compiler and a concurrent collector would only cost it time.
TOOL_OPTIONS = ("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
# Not all of Kafka's programs live in the package of the tools.
CLASSES = {
    "ConfigCommand": "kafka.admin.ConfigCommand",
    "ConsoleConsumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "Kafka": "kafka.Kafka",
    "ReassignPartitionsCommand": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "StorageTool": "kafka.tools.StorageTool",
}


def java_class(tool: str) -> str:
    """The full class name of a tool; a name with a dot is one already."""
    if "." in tool:
        return tool
    return CLASSES.get(tool, f"org.apache.kafka.tools.{tool}")


@functools.cache
def class_path(*, logging: bool) -> str:
    """Every jar, with one of the two logging back ends."""
    unwanted = "slf4j-nop" if logging else "slf4j-simple"
    jars = [str(jar) for jar in sorted(Path(libraries()).glob("*.jar")) if unwanted not in jar.name]
    return ":".join(jars)


def java_command(
    tool: str, *arguments: str, options: tuple[str, ...] = TOOL_OPTIONS, logging: bool = False
) -> list[str]:
    """The command line of a tool, for callers that run it themselves (benchmarks, long runs)."""
    return ["java", *options, "-cp", class_path(logging=logging), java_class(tool), *arguments]


def java_tool(
    tool: str,
    *arguments: str,
    stdin: str | None = None,
    timeout: float = 60,
    options: tuple[str, ...] = TOOL_OPTIONS,
) -> subprocess.CompletedProcess[str]:
    """Runs a tool to its end; the status is the caller's to judge."""
    return subprocess.run(
        java_command(tool, *arguments, options=options),
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
