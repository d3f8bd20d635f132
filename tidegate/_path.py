"""Where the packages `wire`, `engine`, `coordinators` and `tools` come from.

In a checkout they lie next to `tidegate/`. Names like these must not land in a user's site-packages, so the
wheel carries them inside, in `tidegate/_packages/`; a program that needs them calls `activate()` first.
"""

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGES = ("coordinators", "engine", "tools", "wire")

_HERE = Path(__file__).resolve().parent


class PackageClash(ImportError):
    """This process has a package of the same name as one of Tidegate's own."""


def home() -> Path:
    """The folder that holds Tidegate's packages."""
    bundled = _HERE / "_packages"
    return bundled if bundled.is_dir() else _HERE.parent


def activate() -> None:
    """Put Tidegate's packages first on the path of this process, which is the server's own.

    Refused if one of their names was imported from elsewhere, for then the server would run foreign code.
    """
    for name in PACKAGES:
        _refuse_if_foreign(name, _imported_from(name))
    _put_first(str(home()))
    # kio, whose names of errors the command line shows, imports hypothesis wherever it is installed: 0.2 s and 30 MB.
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]  # None makes the import fail


def activate_embedded() -> None:
    """As `activate()`, in a process that also runs a user's program: its own packages must not be hidden."""
    for name in PACKAGES:
        _refuse_if_foreign(name, _imported_from(name) or _findable_at(name))
    _put_first(str(home()))


def import_alone(name: str) -> None:
    """Import one of Tidegate's modules that needs none of the others, whether their folder is on the path or not.

    A program that asks a broker in another process needs no more than that, and may have packages of the same names as
    ours. If it embeds a broker after all, that finds the module imported: there is only one.
    """
    if name in sys.modules:
        return
    spec = spec_from_file_location(name, home().joinpath(*name.split(".")).with_suffix(".py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _put_first(folder: str) -> None:
    sys.path[:] = [folder, *(entry for entry in sys.path if entry != folder)]


def _refuse_if_foreign(name: str, origin: Path | None) -> None:
    if origin is None or origin.is_relative_to(home()):
        return
    raise PackageClash(
        f"Tidegate cannot run inside this process: it has its own top-level package {name!r} ({origin}), "
        f"a name that Tidegate's packages use too. Start the broker in a process of its own with "
        f"tidegate.testing.broker() or the command 'tidegate serve'."
    )


def _imported_from(name: str) -> Path | None:
    module = sys.modules.get(name)
    return None if module is None else _origin(module.__spec__, getattr(module, "__file__", None))


def _findable_at(name: str) -> Path | None:
    """Where a user's `import name` leads; plain folders without `__init__.py` do not count."""
    ours = home()
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != ours]
    spec = PathFinder.find_spec(name, elsewhere)
    return _origin(spec, None) if spec is not None and spec.origin is not None else None


def _origin(spec: ModuleSpec | None, file: str | None) -> Path:
    return next(_places(spec, file), Path("unknown"))


def _places(spec: ModuleSpec | None, file: str | None) -> Iterator[Path]:
    if file is not None:
        yield Path(file).resolve()
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).resolve()
    if spec is not None:
        yield from (Path(place).resolve() for place in spec.submodule_search_locations or ())
