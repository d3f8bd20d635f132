"""What spark-submit is given runs by itself, far from a checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tools.pipelines.bundle import bundle


def test_it_runs_without_the_checkout_and_without_other_packages(tmp_path: Path) -> None:
    code, program = bundle(tmp_path / "out")
    # -S: no site-packages, so nothing but Python's own library and the zip.
    command = [
        sys.executable,
        "-S",
        "-E",
        "-c",
        f"import sys; sys.path[:0] = [{str(code)!r}]; sys.argv[1:] = ['--help']",
    ]
    command[-1] += f"; exec(open({str(program)!r}).read())"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "archive" in done.stdout


def test_it_holds_the_pipelines_and_what_reads_values_by_schemas(tmp_path: Path) -> None:
    code, _ = bundle(tmp_path)
    with zipfile.ZipFile(code) as archive:
        names = archive.namelist()
    assert "tools/pipelines/archive/pipeline.py" in names
    others = [name for name in names if not name.startswith(("tools/pipelines/", "coordinators/schemas/formats/"))]
    parents = [
        f"{each}/__init__.py" for each in ("tools", "coordinators", "coordinators/schemas", "coordinators/letters")
    ]
    assert sorted(others) == sorted([*parents, "coordinators/letters/fields.py"])
    reads = "import coordinators.schemas.formats as f; [f.by_name(each) for each in f.TYPES]; print(f.__file__)"
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(code)!r}]; {reads}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert str(code) in done.stdout, done.stderr
