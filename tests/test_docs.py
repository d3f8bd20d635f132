"""What the documentation says of the code is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

from engine.stage.headers import NAMES, PREFIX
from wire.kafka.apis import registered

DOCS = Path(__file__).parent.parent / "docs"


def rows(text: str) -> dict[int, tuple[str, str]]:
    """The rows of the table of APIs: key -> (name, versions)."""
    found = re.findall(r"^\| (\d+) \| (\w+) \| ([\d-]+) \|$", text, re.MULTILINE)
    return {int(key): (name, versions) for key, name, versions in found}


def test_every_api_is_listed_with_its_versions() -> None:
    listed = rows((DOCS / "compatibility.md").read_text())
    served = {
        key: (_words(api.name), f"{api.first_version}-{api.last_advertised_version}")
        for key, api in registered().items()
        if api.advertised
    }
    assert listed == served


def test_every_extension_header_is_explained() -> None:
    pages = (DOCS / "delay.md").read_text() + (DOCS / "priority.md").read_text()
    assert set(re.findall(r"`(tide-[a-z-]+)[`=]", pages)) >= set(NAMES)
    assert set(re.findall(r"`(tide-[a-z-]+)`", pages)) <= {*NAMES, PREFIX.decode()}


def test_every_relative_link_leads_somewhere() -> None:
    root = DOCS.parent
    broken = []
    for page in [root / "README.md", *DOCS.rglob("*.md"), root / "compat_tests" / "README.md"]:
        without_code = re.sub(r"`[^`\n]*`", "", page.read_text())
        for target in re.findall(r"\]\(([^)#:]+)\)", without_code):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_the_program_that_embeds_a_broker_runs(tmp_path: Path) -> None:
    page = (DOCS / "guide.md").read_text()
    (program,) = re.findall(r"## Embed in a trio program\n.*?```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(DOCS.parent)}
    command = [sys.executable, "program.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1 waits\n"), done.stderr
    assert (tmp_path / "data" / ".clean-shutdown").exists()


def _words(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
