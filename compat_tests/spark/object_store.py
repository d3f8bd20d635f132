"""A server of S3's API for the scenarios: MinIO where it is installed (tools/setup/go_program.sh minio), else
moto's."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from attrs import frozen

from compat_tests.brokers import PROJECT_ROOT
from compat_tests.waiting import eventually

USER, PASSWORD = "tidegate", "tidegate-secret"
Application = Callable[[dict[str, Any], Any], Any]


@frozen
class ObjectStore:
    """A running server, by its address."""

    endpoint: str

    @property
    def settings(self) -> dict[str, str]:
        """What Hadoop must be told of it."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": USER,
            "fs.s3a.secret.key": PASSWORD,
        }

    def client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=USER,
            aws_secret_access_key=PASSWORD,
        )

    def make(self, bucket: str) -> str:
        """A bucket, by the address that Hadoop has for it."""
        self.client().create_bucket(Bucket=bucket)
        return f"s3a://{bucket}"


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """A server whose objects are gone with the block."""
    minio = shutil.which("minio", path=f"{PROJECT_ROOT / '.cache' / 'minio'}{os.pathsep}{os.environ['PATH']}")
    with moto() if minio is None else _minio(minio, folder) as endpoint:
        yield ObjectStore(endpoint)


@contextmanager
def moto(around: Callable[[Application], Application] = lambda app: app) -> Iterator[str]:
    """moto's server in a thread, with something around it that sees each request first."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, around(DomainDispatcherApplication(create_backend_app)), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def _minio(program: str, folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"MINIO_ROOT_USER": USER, "MINIO_ROOT_PASSWORD": PASSWORD, "MINIO_UPDATE": "off"}
    command = [program, "server", "--quiet", "--address", f"127.0.0.1:{port}", str(folder)]
    with (folder.parent / "minio.log").open("wb") as said:
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        )
    try:
        eventually(lambda: _answers(port), True, 60)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """The server that all scenarios share."""
    with object_store(tmp_path_factory.mktemp("objects")) as running:
        yield running
