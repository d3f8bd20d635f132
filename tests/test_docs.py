"""What the documentation says of the code is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

from engine.stage.headers import NAMES, PREFIX
from tests.tidegate.work.programs import prepare
from tidegate import testing
from tools.build_site import build
from tools.list_decisions import listed

DOCS = Path(__file__).parent.parent / "docs"


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


def test_every_key_of_the_page_on_queues_exists() -> None:
    known = set(re.findall(r"^\| `([a-z][a-z.]+)` \|", (DOCS / "configuration.md").read_text(), re.MULTILINE))
    named = re.findall(r"`((?:group\.)?share\.[a-z.]+|errors\.[a-z.]+)[`=]", (DOCS / "queues.md").read_text())
    assert len(named) > 20
    assert set(named) - known == {"share.acknowledgement.mode"}, "the last one is the client's"


def test_the_worker_of_the_page_on_queues_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(import trio.*?)```", (DOCS / "queues.md").read_text(), re.DOTALL)
    assert len(program.splitlines()) <= 22
    with testing.broker({"group.share.assignment.interval.ms": "0"}, timeout_s=60) as broker:
        prepare(broker.bootstrap, "jobs", [b"hello"], group="mail")
        (tmp_path / "program.py").write_text(program.replace("127.0.0.1:9092", broker.bootstrap))
        command = [sys.executable, "-u", "program.py"]
        environment = {**os.environ, "PYTHONPATH": str(DOCS.parent)}
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "jobs 0 0 1 b'key' b'hello'\n"
            worker.kill()


def test_every_page_is_found_from_the_sites_menu() -> None:
    menu = (DOCS.parent / "mkdocs.yml").read_text()
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.parent.name != "adr"}
    assert {page for page in pages if f"- {page}\n" not in menu} == set()


def test_every_decision_is_listed() -> None:
    assert (DOCS / "adr" / "index.md").read_text() == listed(), "run python -m tools.list_decisions"


def test_the_site_is_built_without_a_link_to_a_heading_that_is_not_there(tmp_path: Path) -> None:
    build(tmp_path / "site")
    assert "Ten minutes" in (tmp_path / "site" / "tutorial.html").read_text()


def test_the_page_of_guarantees_names_tests_and_commands_that_there_are() -> None:
    page = (DOCS / "guarantees.md").read_text()
    files = set(re.findall(r"`((?:compat_)?tests/[^`]+)`", page))
    assert len(files) > 30
    assert {file for file in files if not (DOCS.parent / file).is_file()} == set()
    targets = set(re.findall(r"^([a-z-]+):", (DOCS.parent / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", page)) <= targets


def test_the_page_of_security_names_tests_that_there_are() -> None:
    page = (DOCS / "security.md").read_text()
    named = re.findall(r"`((?:compat_)?tests/[^`:]+)::(\w+)`", page)
    assert len(named) > 25
    absent = {
        (file, test)
        for file, test in named
        if not re.search(rf"^(?:async )?def {test}\(", (DOCS.parent / file).read_text(), re.MULTILINE)
    }
    assert absent == set()


def test_the_comparison_quotes_figures_that_were_measured() -> None:
    page = (DOCS / "comparison.md").read_text()
    measured = (DOCS / "benchmarks.md").read_text()
    for row, quoted in {"produce-1k-java": (1.03, 0.60, 0.06), "produce-1k-1p-java": (0.73,)}.items():
        (line,) = re.findall(rf"^\| {row} \| Java \| (.*)$", measured, re.MULTILINE)
        assert {f"{figure:.2f}" for figure in quoted} <= set(re.findall(r"\d+\.\d\d", line))
    assert "1.03 times" in page
    assert "0.60 of the CPU" in page
    assert "0.73 times" in page
