"""The messages that are checked in are those of the proto files."""

import pytest

from tools.protos import generated, module_name

pytest.importorskip("grpc_tools")


def test_what_is_checked_in_is_what_would_be_generated() -> None:
    found = generated()
    assert found
    stale = [path.name for path, text in found.items() if not path.exists() or path.read_text() != text]
    assert not stale, "run python -m tools.protos"


def test_modules_of_two_versions_have_two_names() -> None:
    assert module_name("tidegate/v1/produce.proto") == "produce_pb2"
    assert module_name("grpc/reflection/v1alpha/reflection.proto") == "reflection_v1alpha_pb2"
