"""Writes the messages of the gRPC door, and of the client library, from the proto files; run it when those change.

    python -m tools.protos

The output is checked in, so that mypy and editors see the types, and neither the broker nor a client needs protoc. A
test generates it again and compares. What is written uses no more than protobuf's public interface: so it does with
older and newer versions of it than the one that it was written with.
"""

import re
import sys
import tempfile
from pathlib import Path

from attrs import frozen
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "wire" / "grpc" / "proto"


@frozen
class Target:
    """Where messages go, and out of which proto files."""

    package: str
    prefixes: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return ROOT / self.package.replace(".", "/")


TARGETS = (
    Target("wire.grpc.messages", ("tidegate/", "grpc/")),
    Target("tidegate.client.messages", ("tidegate/",)),
)
_BARE_MAPPING = re.compile(r"_Mapping(?=[\],])")
_IMPORT = re.compile(r"^from ([\w.]+) import (\w+)_pb2 as (\w+)$", re.MULTILINE)


def generated() -> dict[Path, str]:
    """Every file with what it should hold."""
    with tempfile.TemporaryDirectory() as folder:
        files, stubs = _compiled(Path(folder))
    found: dict[Path, str] = {}
    for target in TARGETS:
        for file in files:
            if file.name.startswith(target.prefixes):
                path = target.folder / f"{module_name(file.name)}.py"
                found[path] = _module(file, target)
                found[path.with_suffix(".pyi")] = _stub(stubs[file.name], target)
    return found


def module_name(proto: str) -> str:
    """`tidegate/v1/produce.proto` -> `produce_pb2`; those of gRPC itself have their version in their names."""
    folder, _, name = proto.removesuffix(".proto").rpartition("/")
    version = "" if folder.startswith("tidegate/") else f"_{folder.rpartition('/')[2]}"
    return f"{name}{version}_pb2"


def commented_files() -> list[FileDescriptorProto]:
    """What protoc makes of the proto files, with the comments in them: for pages, nothing else needs those."""
    with tempfile.TemporaryDirectory() as folder:
        return _described(Path(folder) / "described", "--include_source_info")


def _compiled(folder: Path) -> tuple[list[FileDescriptorProto], dict[str, str]]:
    files = _described(folder / "described", f"--pyi_out={folder}")
    stubs = {name: (folder / f"{name.removesuffix('.proto')}_pb2.pyi").read_text() for name in _names()}
    return files, stubs


def _names() -> list[str]:
    return sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))


def _described(target: Path, *options: str) -> list[FileDescriptorProto]:
    from grpc_tools import protoc

    command = ["protoc", f"-I{PROTOS}", "--include_imports", f"--descriptor_set_out={target}", *options, *_names()]
    if protoc.main(command) != 0:
        raise SystemExit("protoc has failed")
    return list(FileDescriptorSet.FromString(target.read_bytes()).file)


def _module(file: FileDescriptorProto, target: Target) -> str:
    needed = "".join(f"from {target.package} import {module_name(name)}  # noqa: F401\n" for name in file.dependency)
    classes = "".join(_class_line(file.package, message.name) for message in file.message_type)
    values = "".join(f"{value.name} = {value.number}\n" for enum in file.enum_type for value in enum.value)
    return (
        f'"""The messages of {file.name}; written by tools/protos.py."""\n\n'
        f"from google.protobuf.message_factory import GetMessageClass\n\n"
        f"{needed}from {target.package}.pool import POOL, declare\n\n"
        f"declare({file.name!r}, {file.SerializeToString()!r})\n"
        f"{classes}{values}"
    )


def _class_line(package: str, name: str) -> str:
    return f'{name} = GetMessageClass(POOL.FindMessageTypeByName("{package}.{name}"))\n'


def _stub(text: str, target: Target) -> str:
    def moved(found: re.Match[str]) -> str:
        package, name, alias = found.groups()
        folder = package.replace(".", "/")
        return f"from {target.package} import {module_name(f'{folder}/{name}.proto')} as {alias}"

    lines = _IMPORT.sub(lambda found: found.group() if "google" in found.group(1) else moved(found), text).splitlines()
    return "\n".join(_BARE_MAPPING.sub("_Mapping[str, object]", line.rstrip()) for line in lines).rstrip() + "\n"


def main() -> int:
    """Write them all."""
    found = generated()
    for path, text in found.items():
        path.write_text(text)
    for target in TARGETS:
        for path in sorted(target.folder.glob("*_pb2.py*")):
            if path not in found:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
