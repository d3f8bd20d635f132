"""Whose `engine` and `tools` are imported: ours in the server's process, never by hiding a user's."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tidegate import _path


@pytest.fixture(autouse=True)
def _path_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def _package(folder: Path, name: str) -> Path:
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    return package


def _imported(monkeypatch: pytest.MonkeyPatch, package: Path) -> None:
    module = ModuleType(package.name)
    module.__file__ = str(package / "__init__.py")
    monkeypatch.setitem(sys.modules, package.name, module)


def test_a_checkout_is_its_own_home() -> None:
    assert (_path.home() / "engine" / "errors.py").is_file()


def test_bundled_packages_are_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_packages").mkdir()
    monkeypatch.setattr(_path, "_HERE", tmp_path)
    assert _path.home() == tmp_path / "_packages"


@pytest.mark.parametrize("activate", [_path.activate, _path.activate_embedded])
def test_our_packages_come_first_and_once(activate: Callable[[], None]) -> None:
    home = str(_path.home())
    activate()
    activate()
    assert sys.path[0] == home
    assert sys.path.count(home) == 1


@pytest.mark.parametrize("activate", [_path.activate, _path.activate_embedded])
def test_an_imported_package_of_the_user_is_a_clash(
    activate: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _imported(monkeypatch, _package(tmp_path, "engine"))
    with pytest.raises(_path.PackageClash, match=r"own top-level package 'engine' .*tidegate\.testing\.broker"):
        activate()


def test_embedding_refuses_to_hide_a_package_not_yet_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "coordinators", raising=False)
    _package(tmp_path, "coordinators")
    sys.path.append(str(tmp_path))
    with pytest.raises(_path.PackageClash, match="'coordinators'"):
        _path.activate_embedded()


def test_the_server_process_hides_what_lies_in_its_current_directory(tmp_path: Path) -> None:
    _package(tmp_path, "coordinators")
    sys.path.insert(0, str(tmp_path))
    _path.activate()
    assert sys.path[:2] == [str(_path.home()), str(tmp_path)]


def test_a_plain_folder_called_tools_is_no_clash(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    sys.path.append(str(tmp_path))
    _path.activate_embedded()


def test_the_server_process_does_without_hypothesis() -> None:
    program = (
        "import sys; from tidegate import _path; _path.activate(); import kio.static.primitive;"
        "print([name for name in sys.modules if name.startswith(('hypothesis', '_pytest')) and sys.modules[name]])"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
