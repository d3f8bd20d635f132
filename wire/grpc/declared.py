"""What the proto files declare, as reflection and health checks tell it."""

from functools import cache

from google.protobuf.descriptor import FileDescriptor

from wire.grpc.messages.pool import FILES, POOL


@cache
def service_names() -> frozenset[str]:
    """Every service of the door, with its package."""
    return frozenset(
        service.full_name for name in FILES for service in POOL.FindFileByName(name).services_by_name.values()
    )


def file_named(name: str) -> FileDescriptor | None:
    """A proto file; None if there is none of that name."""
    return _file(name) if name in FILES else None


def file_of_symbol(symbol: str) -> FileDescriptor | None:
    """The proto file that declares a service, a method, a message, an enumeration or a field; None if none does."""
    try:
        return POOL.FindFileContainingSymbol(symbol)
    except KeyError:
        pass
    owner, _, name = symbol.rpartition(".")
    try:
        service = POOL.FindServiceByName(owner)
    except KeyError:
        return None
    return service.file if name in service.methods_by_name else None


def with_imports(file: FileDescriptor) -> list[FileDescriptor]:
    """The file and all that it needs, itself first."""
    found: dict[str, FileDescriptor] = {file.name: file}
    for each in file.dependencies:
        found |= {needed.name: needed for needed in with_imports(each)}
    return list(found.values())


def _file(name: str) -> FileDescriptor:
    return POOL.FindFileByName(name)
