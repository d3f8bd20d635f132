"""An etcd for as long as a block: it keeps what it was told over a crash, and ends with the block."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.etcd.catalogue import EtcdCatalogue
from engine.catalogue.etcd.gateway import EtcdEndpoint, EtcdUnavailable, Gateway
from engine.catalogue.etcd.session import EtcdSession
from tidegate import etcd as module
from tidegate.etcd import EtcdDidNotStart, EtcdMissing, RunningEtcd, find


def test_it_keeps_its_data_over_a_crash_and_ends_with_the_block(tmp_path: Path) -> None:
    with RunningEtcd(tmp_path) as running:
        gateway = Gateway([EtcdEndpoint.parse(running.url)], timeout_s=1.0)
        session = EtcdSession(gateway, 1.0, time.monotonic, lambda: True)
        catalogue = EtcdCatalogue(gateway, "/test", os.urandom, session)
        catalogue.commit(Commit((), (Put("a", b"1"),)))
        running.kill()
        running.start()
        assert [entry.value for entry in catalogue.entries("")[1]] == [b"1"]
    with pytest.raises(EtcdUnavailable):
        catalogue.revision()
    catalogue.close()


def test_it_ends_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time; from tidegate.etcd import RunningEtcd; "
        "etcd = RunningEtcd(pathlib.Path(sys.argv[1])); etcd.start(); print(etcd.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.kill()
        starter.wait()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}/exe").exists():
        assert time.monotonic() < deadline, "etcd is still there"
        time.sleep(0.02)


def test_where_there_is_none_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(module, "PLACES", ())
    with pytest.raises(EtcdMissing, match="etcd-server"):
        find()


def test_one_that_ends_at_once_shows_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "etcd"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setattr(module, "find", lambda: program)
    with pytest.raises(EtcdDidNotStart, match="broken"):
        RunningEtcd(tmp_path / "data").start()
