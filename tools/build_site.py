"""Makes a site of the pages of docs/, which needs no server: `python -m tools.build_site [FOLDER]`.

It is built from a copy: the program keeps its own cache in `.cache` of the folder it works in, and empties all of it.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(folder: Path) -> None:
    """Into this folder; what stands there is replaced. CalledProcessError if a link leads to a heading that is not."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        shutil.copy(ROOT / "mkdocs.yml", place)
        shutil.copytree(ROOT / "docs", place / "docs")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(place / "mkdocs.yml")]
        subprocess.run(command, cwd=place, check=True)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place / "build" / "site", folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site")
