"""Runs a Java tool against the broker under test and judges its status."""

from tools.reference.java import java_tool


def tool(name: str, bootstrap: str, *arguments: str) -> str:
    """The output of a tool that has to succeed."""
    done = java_tool(name, *arguments, "--bootstrap-server", bootstrap)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def failing_tool(name: str, bootstrap: str, *arguments: str) -> str:
    """The output of a tool that has to fail."""
    done = java_tool(name, *arguments, "--bootstrap-server", bootstrap)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr
