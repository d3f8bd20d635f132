"""Compiles what is written in C, in place: `python -m tools.compile`. Without a compiler the broker runs too, slower.

Each `_name.c` has a `name.py` beside it, which loads it, and elsewhere has Python do the same. A wheel carries what was
compiled when it was built (`hatch_build.py`). Nothing but the standard library is needed here.
"""

import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("engine/records", "coordinators/schemas/formats/avro")
_FLAGS = ("-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")


def compiled(root: Path = ROOT) -> list[Path]:
    """The shared objects, made anew where their source is newer; OSError or CalledProcessError if that fails."""
    return [_compiled(source) for package in PACKAGES for source in sorted((root / package).glob("_*.c"))]


def _compiled(source: Path) -> Path:
    target = source.with_name(source.stem + sysconfig.get_config_var("EXT_SUFFIX"))
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return target
    # Whoever imports it meanwhile gets the old one or the new one whole.
    unfinished = target.with_name(f"{target.name}.new")
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    include = sysconfig.get_path("include")
    subprocess.run(
        [*compiler, *_FLAGS, f"-I{include}", str(source), "-o", str(unfinished)],
        check=True,
        capture_output=True,
        text=True,
    )
    unfinished.replace(target)
    return target


def main() -> int:
    """Compile, and say so where it cannot be done."""
    try:
        compiled()
    except subprocess.CalledProcessError as error:
        print(f"not compiled, the Python form is used: {error.stderr.strip()}", file=sys.stderr)
    except OSError as error:
        print(f"not compiled, the Python form is used: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
