"""The reference pages are what the code says, and nothing is missing in them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tools import generate_error_docs, generate_grpc_docs, generate_http_docs, generate_kafka_docs
from tools.error_advice import ADVICE, GRPC_OWN, HTTP_OWN, TEXT_OWN
from tools.generate_config_docs import document as configuration
from wire.grpc.status import STATUSES as GRPC_STATUSES
from wire.http.problems import STATUSES as HTTP_STATUSES
from wire.http.routing import load_routes
from wire.kafka.apis import registered
from wire.kafka.errors import ErrorCode
from wire.registry.openapi import MOUNTED, described

ROOT = Path(__file__).resolve().parents[2]
PAGES = (generate_kafka_docs, generate_http_docs, generate_grpc_docs, generate_error_docs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.DOCUMENT.name)
def test_the_page_is_current(page: ModuleType) -> None:
    assert page.DOCUMENT.read_text(encoding="utf-8") == page.document(), f"run: python -m {page.__name__}"


def test_every_api_is_listed_with_the_versions_that_clients_are_told_of() -> None:
    rows = re.findall(r"^\| (\d+) \| \[\w+\]\(#\w+\) \| ([\d-]+) \|", generate_kafka_docs.document(), re.MULTILINE)
    told = {int(key): (int(versions.split("-")[0]), int(versions.split("-")[-1])) for key, versions in rows}
    apis = (api for api in registered().values() if api.advertised)
    assert told == {api.key: (api.first_version, api.last_advertised_version) for api in apis}


def test_every_call_has_its_part() -> None:
    parts = set(re.findall(r"^### `([A-Z]+ /\S*)`$", generate_http_docs.document(), re.MULTILINE))
    paths = {(route.method, route.path) for route in load_routes() if route.path not in generate_http_docs.UNTOLD}
    of_registry = {
        f"{method.upper()} {path}"
        for path, found in described(MOUNTED, needs_token=False)[0].items()
        for method in found
    }
    assert parts == {f"{method} {path}" for method, path in paths} | of_registry


def test_every_document_that_is_named_is_described() -> None:
    for page in (generate_http_docs.document(), generate_grpc_docs.document()):
        described = {title.lower() for title in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
        assert set(re.findall(r"\]\(#(\w+)\)", page)) <= described


def test_what_proto_files_say_of_a_field_is_told() -> None:
    assert "| `due_ms` | 3 | int64 |" in generate_grpc_docs.document()
    assert "| `offset` | 1 | int64, one of `position` |" in generate_grpc_docs.document()
    assert "| `configs` | 4 | map of string to string |" in generate_grpc_docs.document()


def test_there_is_something_to_do_about_every_error() -> None:
    assert set(ADVICE) == set(ErrorCode)
    assert {int(status) for status in HTTP_STATUSES.values()} <= set(HTTP_OWN)
    assert set(GRPC_STATUSES.values()) <= set(GRPC_OWN)


def test_every_status_of_the_http_door_is_told() -> None:
    folder = ROOT / "wire" / "http"
    raised = {name for path in folder.rglob("*.py") for name in re.findall(r"HTTPStatus\.([A-Z_]+)", path.read_text())}
    told = {generate_error_docs.HTTPStatus(status).name for status in HTTP_OWN}
    assert raised - told == {"OK", "NO_CONTENT"}


def test_every_code_of_the_text_door_is_told() -> None:
    assert set(_text_codes()) == set(TEXT_OWN)


def _text_codes() -> Iterator[str]:
    """What stands first where the door refuses in words of its own."""
    for path in (ROOT / "wire" / "text").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("BadCommand", "answers.error") and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield str(first.value)


def test_every_key_that_is_advised_exists() -> None:
    known = set(re.findall(r"^\| `([a-z0-9._]+)` \|", configuration(), re.MULTILINE))
    texts = [
        *(each.todo + each.when for each in ADVICE.values()),
        *HTTP_OWN.values(),
        *GRPC_OWN.values(),
        *TEXT_OWN.values(),
    ]
    named = {name for text in texts for name in re.findall(r"`([a-z]+(?:\.[a-z]+)+)[`=]", text)}
    assert len(named) > 20
    of_clients = {"group.id", "group.instance.id", "group.remote.assignor", "auto.offset.reset", "security.protocol"}
    assert named - known == of_clients
