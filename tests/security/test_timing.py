"""Secrets are compared in constant time (CVE-2021-38153): read off the code, for a clock would tell too little."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHERE = ("coordinators/access", "tidegate", "wire/http", "wire/grpc", "wire/text", "wire/registry", "wire/kafka")
SECRET = re.compile(r"(^|_)(password|token|proof|secret|nonce|digest|signature|mac|salted|stored_key)$")
CLIENTS = ("tidegate/client", "tidegate/work")
"""They compare what is theirs with what a server says, which learns nothing by it."""
PLAIN = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def compared(source: str) -> Iterator[str]:
    """What of a program compares something that is called like a secret, otherwise than with a constant."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], PLAIN):
            continue
        sides = (node.left, *node.comparators)
        if any(isinstance(each, ast.Constant) for each in sides):
            continue
        if any(SECRET.search(_name(each)) for each in sides):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def _name(side: ast.expr) -> str:
    if isinstance(side, ast.Attribute):
        return side.attr
    return side.id if isinstance(side, ast.Name) else ""


@pytest.mark.parametrize("place", WHERE)
def test_no_secret_is_compared_but_in_constant_time(place: str) -> None:
    every = {str(file.relative_to(ROOT)): file for file in (ROOT / place).rglob("*.py")}
    files = {name: file for name, file in every.items() if not name.startswith(CLIENTS)}
    assert files
    found = {f"{name}, {each}" for name, file in files.items() for each in compared(file.read_text())}
    assert found == set(), "use hmac.compare_digest"


@pytest.mark.parametrize("line", ["given == self._token", "password != kept", "proof in proofs", "user.salted == x"])
def test_such_a_comparison_is_found(line: str) -> None:
    assert list(compared(line)) == [f"line 1: {line}"]


@pytest.mark.parametrize("line", ["token is None", "password == ''", "hmac.compare_digest(token, kept)", "tokens == 3"])
def test_what_tells_nothing_is_not(line: str) -> None:
    assert list(compared(line)) == []
