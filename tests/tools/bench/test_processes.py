"""What /proc says of a process is what it did."""

import os
import subprocess
import sys
import time

from tools.bench.processes import age_s, cpu_s, forget_peak, peak_resident_mb, resident_mb, stolen_s, thread_cpu_s


def test_cpu_time_grows_with_work() -> None:
    pid = os.getpid()
    before, threads = cpu_s(pid), thread_cpu_s(pid)
    while time.process_time() < before + 0.1:
        sum(range(1000))
    assert cpu_s(pid) - before >= 0.05
    assert max(used - threads.get(name, 0) for name, used in thread_cpu_s(pid).items()) >= 0.05


def test_the_peak_of_memory_can_begin_anew() -> None:
    pid = os.getpid()
    block = bytearray(64 * 1024 * 1024)
    high = peak_resident_mb(pid)
    assert high >= resident_mb(pid)
    del block
    forget_peak(pid)
    assert resident_mb(pid) <= peak_resident_mb(pid) + 1
    assert peak_resident_mb(pid) <= high


def test_age_counts_from_the_start() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        young = age_s(process.pid)
        assert 0 <= young < age_s(os.getpid()) + 60
        process.communicate(b"\n")


def test_what_the_host_takes_only_grows() -> None:
    before = stolen_s()
    assert 0 <= before <= stolen_s()
