"""The OpenAPI document says what is served, and what it says is kept: schemathesis calls every route by it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tidegate import testing
from wire.http.openapi import document
from wire.http.routing import load_routes
from wire.registry.openapi import registry_routes

# The value of a topic's setting, or what one node can replicate, is no matter of a schema.
NOT_BY_SCHEMA = "positive_data_acceptance"
# Whatever is no `true` in a query is false to a registry, and what it does not know it passes over.
LENIENT = "negative_data_rejection"
OF_REGISTRY = "^/schemas"
EXAMPLES = 4


def whole(*, needs_token: bool = False) -> dict[str, Any]:
    return json.loads(document("1.2.3", needs_token))  # type: ignore[no-any-return]


def test_every_route_is_described() -> None:
    described = {(method.upper(), path) for path, methods in whole()["paths"].items() for method in methods}
    of_registry = {(method, path) for method, path in described if path.startswith("/schemas")}
    assert described - of_registry == {(route.method, route.path) for route in load_routes()}
    assert len(of_registry) == len(list(registry_routes()))
    assert whole()["openapi"] == "3.1.0"
    assert whole()["info"]["version"] == "1.2.3"


def test_every_reference_leads_somewhere() -> None:
    schemas = whole()["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/(\w+)"', document("1.2.3", False).decode()))
    assert references <= set(schemas)
    assert "$defs" not in json.dumps(whole())


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for methods in whole()["paths"].values() for operation in methods.values()]
    assert sorted(names) == sorted(set(names))


def test_a_lists_pages_are_described() -> None:
    parameters = {each["name"]: each for each in whole()["paths"]["/topics"]["get"]["parameters"]}
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
    assert {"skip", "prefix", "internal"} <= set(parameters)


def test_a_call_that_changes_without_a_body_needs_the_header() -> None:
    parameters = whole()["paths"]["/topics/{topic}"]["delete"]["parameters"]
    assert [each["name"] for each in parameters if each["in"] == "header"] == ["X-Tidegate"]


def test_errors_are_problem_documents_everywhere() -> None:
    for path, methods in whole()["paths"].items():
        for operation in methods.values() if not path.startswith("/schemas") else ():
            assert list(operation["responses"]["default"]["content"]) == ["application/problem+json"]


def test_the_token_is_described_where_one_is_needed() -> None:
    paths = whole(needs_token=True)["paths"]
    assert paths["/topics"]["get"]["security"] == [{"token": []}]
    assert "security" not in paths["/health/live"]["get"]
    assert "securitySchemes" not in whole()["components"]


def run_schemathesis(directory: Path, url: str, *arguments: str) -> None:
    command = [str(Path(sys.executable).parent / "schemathesis"), "run", f"{url}/openapi.json", "--no-color"]
    command += ["--seed", "1", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False, cwd=directory)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr


@pytest.mark.timeout(400)
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    with testing.broker({"http.poll.max.wait.ms": "100"}, timeout_s=30) as broker:
        checks = ["--checks", "all", "--exclude-checks", NOT_BY_SCHEMA]
        phases = ["--phases", "coverage,fuzzing", "--max-examples", str(EXAMPLES)]
        phases += ["--exclude-path-regex", OF_REGISTRY]
        run_schemathesis(tmp_path, broker.http_url, *phases, *checks)
        assert "Traceback" not in broker.log()


@pytest.mark.timeout(400)
def test_schemathesis_finds_nothing_at_the_registry_below(tmp_path: Path) -> None:
    with testing.broker(timeout_s=30) as broker:
        checks = ["--checks", "all", "--exclude-checks", f"{NOT_BY_SCHEMA},{LENIENT}"]
        phases = ["--phases", "fuzzing", "--max-examples", "5", "--include-path-regex", OF_REGISTRY]
        run_schemathesis(tmp_path, broker.http_url, *phases, *checks)
        assert "Traceback" not in broker.log()


def test_schemathesis_finds_no_way_around_the_token(tmp_path: Path) -> None:
    with testing.broker({"http.token": "secret"}, timeout_s=30) as broker:
        checks = ["--checks", "ignored_auth,not_a_server_error"]
        phases = ["--phases", "fuzzing", "--mode", "positive", "--max-examples", "1"]
        run_schemathesis(tmp_path, broker.http_url, "--header", "Authorization: Bearer secret", *phases, *checks)
