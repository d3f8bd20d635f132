"""The wheel: it installs `tidegate` alone, and works in a project that has its own `engine` and `tools`."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

USERS_TEST = '''
"""A user's test: their own packages and the fixture, side by side."""

from confluent_kafka import Consumer, Producer, TopicPartition

import engine
import tools
import wire


def test_a_record_comes_back(tidegate_broker):
    server = {"bootstrap.servers": tidegate_broker.bootstrap}
    producer = Producer(server)
    producer.produce("orders", b"one coffee")
    assert producer.flush(10) == 0

    consumer = Consumer(server | {"group.id": "none", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    message = consumer.poll(10)
    consumer.close()
    assert message is not None
    assert message.value() == b"one coffee"


def test_my_packages_are_mine():
    assert engine.OWNER == tools.OWNER == wire.OWNER == "the user"
'''


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    _run(command)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    _run([*command, "--disable-pip-version-check", "--target", str(folder), str(wheel)])
    return folder


def _run(command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_it_installs_nothing_but_tidegate(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in _names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tidegate"}


@pytest.mark.parametrize("package", ["coordinators", "engine", "tools", "wire"])
def test_it_carries_each_package_in_the_private_folder(wheel: Path, package: str) -> None:
    assert f"tidegate/_packages/{package}/__init__.py" in _names(wheel)


@pytest.mark.parametrize(
    "module", ["engine/records/_walk", "coordinators/schemas/formats/avro/_stepping"], ids=["walk", "stepping"]
)
def test_it_carries_what_was_compiled_and_says_for_which_platform(wheel: Path, module: str) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no compiler")
    found = [name for name in _names(wheel) if name.startswith(f"tidegate/_packages/{module}.")]
    assert sorted(name.rpartition(".")[2] for name in found) == ["pyi", "so"], "and no source"
    assert "none-any" not in wheel.name


def test_it_leaves_the_setup_of_a_checkout_out(wheel: Path) -> None:
    assert not [name for name in _names(wheel) if "/setup/" in name]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("engine", "tools", "wire"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('OWNER = "the user"\n')
    (tmp_path / "test_orders.py").write_text(USERS_TEST)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    return tmp_path


def _python(*arguments: str, installed: Path, project: Path) -> str:
    """Run Python as in a user's environment: -S leaves out the link to the checkout that ours has."""
    places = (str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}
    return _run([sys.executable, "-S", *arguments], cwd=project, env=environment)


def test_the_fixture_works_next_to_the_users_own_packages(installed: Path, project: Path) -> None:
    assert "2 passed" in _python("-m", "pytest", "-q", installed=installed, project=project)


def test_the_installed_server_runs_its_own_packages(installed: Path, project: Path) -> None:
    program = "from tidegate import _path; _path.activate(); import engine; print(engine.__file__)"
    output = _python("-c", program, installed=installed, project=project)
    assert Path(output.strip()) == installed / "tidegate/_packages/engine/__init__.py"


def test_the_installed_commands_run_next_to_the_users_own_packages(installed: Path, project: Path) -> None:
    program = (
        "import sys; from tidegate import testing; from tidegate.__main__ import main\n"
        "with testing.broker(timeout_s=60) as broker:\n"
        "    where = ['-b', broker.bootstrap, '--http', broker.http_url, '--timeout', '60']\n"
        "    commands = (['produce', 'orders', 'one coffee'], ['consume', 'orders', '-e'], ['pending', 'stats'])\n"
        "    done = [main([*command, *where]) for command in commands]\n"
        "sys.exit(max(done))"
    )
    output = _python("-P", "-c", program, installed=installed, project=project)
    assert "one coffee" in output
    assert "Run a broker" in _python("-m", "tidegate", "--help", installed=installed, project=project)


def test_the_installed_worker_runs_on_its_own_packages(installed: Path, tmp_path: Path) -> None:
    program = (
        "import asyncio, trio\n"
        "from tidegate import testing\n"
        "from tidegate.work import worker\n"
        "import wire; print(wire.__file__)\n"
        "async def work(address):\n"
        "    async with worker('orders', group='g', bootstrap=address) as jobs: jobs.stop()\n"
        "with testing.broker(timeout_s=60) as broker:\n"
        "    trio.run(work, broker.bootstrap)\n"
        "    asyncio.run(work(broker.bootstrap))\n"
    )
    output = _python("-c", program, installed=installed, project=tmp_path)
    assert Path(output.strip()) == installed / "tidegate/_packages/wire/__init__.py"


def test_the_worker_next_to_the_users_own_packages_is_refused(installed: Path, project: Path) -> None:
    program = "try: import tidegate.work\nexcept ImportError as error: print(error)"
    output = _python("-c", program, installed=installed, project=project)
    assert "tidegate.work cannot be used in this process" in output


def test_embedding_next_to_the_users_own_packages_is_refused(installed: Path, project: Path) -> None:
    program = "import tidegate\ntry: tidegate.Broker\nexcept ImportError as error: print(error)"
    output = _python("-c", program, installed=installed, project=project)
    assert "its own top-level package 'engine'" in output
