"""Counting instructions with Valgrind's callgrind, exactly from here to there, told from inside the program.

Callgrind is steered by client requests: a sequence of instructions that does nothing on a processor and is known to
Valgrind (valgrind.h). Python has no such thing, so a few bytes of machine code make it. With it the start of a program
runs uncounted, which is several times as fast as with counting.
"""

import ctypes
import mmap
import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

# args -> rdi; rax = args, rdx = 0; rol $3, $13, $61, $51 of rdi; xchg rbx, rbx; rax = rdx; ret
_REQUEST = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_RUNNING_ON_VALGRIND = 0x1001
_TOOL = (ord("C") << 24) | (ord("T") << 16)
_DUMP, _ZERO, _START = _TOOL, _TOOL + 1, _TOOL + 4
_TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def available() -> bool:
    """Whether instructions can be counted here."""
    return platform.machine() == "x86_64" and sys.platform == "linux" and shutil.which("valgrind") is not None


def command(out: Path, program: Sequence[str]) -> list[str]:
    """The command line of a program whose counts go to files that begin with `out`; it counts when told to."""
    options = ("--tool=callgrind", "-q", "--instr-atstart=no", f"--callgrind-out-file={out}")
    return ["valgrind", *options, *program]


def counts(out: Path) -> list[int]:
    """What was counted up to each `dump`, since the one before."""
    found = []
    part = 1
    while (file := out.with_name(f"{out.name}.{part}")).exists():
        totals = _TOTALS.search(file.read_text())
        if totals is None:
            raise ValueError(f"callgrind's file {file.name} has no totals")
        found.append(int(totals[1]))
        part += 1
    return found


class Counter:
    """Used by the program that is run under callgrind."""

    def __init__(self) -> None:
        self._code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._code.write(_REQUEST)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        self._call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        if not self._ask(_RUNNING_ON_VALGRIND):
            raise RuntimeError(f"process {os.getpid()} does not run under Valgrind")

    def start(self) -> None:
        """Count from here on."""
        self._ask(_START)
        self._ask(_ZERO)

    def dump(self) -> None:
        """Write down what was counted, and begin anew."""
        self._ask(_DUMP)

    def _ask(self, request: int) -> int:
        arguments = (ctypes.c_uint64 * 6)(request)
        return int(self._call(ctypes.addressof(arguments)))
