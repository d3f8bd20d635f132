"""Tidiness as a test: what a reviewer would otherwise have to say by hand.

It looks at what git tracks or would track. Each allowlist below carries its reason; keep them short.
"""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("coordinators", "engine", "tidegate", "wire")
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

# Written by tools/generate_messages.py, tested as a whole against other implementations, and by tools/protos.py.
GENERATED = ("wire/kafka/messages/", "wire/kafka/codec/schemas/", "wire/grpc/messages/", "tidegate/client/messages/")

# The programs talk to people through standard output; the rest logs.
MAY_PRINT = ("tools/", "tidegate/__main__.py")

# Where time, files and randomness enter the engine; everything else is given them.
ENGINE_DOORS = ("engine/clock.py", "engine/files/files.py", "engine/files/system_sync.py", "engine/journal/device.py")
IMPURE = {
    "open",
    "os.open",
    "os.urandom",
    "datetime.now",
    "datetime.datetime.now",
    "datetime.utcnow",
    "datetime.datetime.utcnow",
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.sleep",
    "uuid.uuid1",
    "uuid.uuid4",
}
IMPURE_MODULES = ("random.", "secrets.")

# A module longer than this has a test file of its name. The tests of its neighbours may cover a shorter one.
UNMIRRORED_LINES_MAX = 100

# Longer modules without a test file of their own name, and why.
UNMIRRORED = {
    "wire/grpc/services/delayed.py": "asks `Inspection`; compat_tests/grpc lists and cancels by it",
    "wire/grpc/calls.py": "a call is what a connection serves: test_connection.py has handlers do all of it",
    "engine/log/view.py": "the readable side of `Log`; test_log.py asks it everything",
}

# Class names that stand twice in the product, and why; any other name means one thing.
SAID_TWICE = {
    "Lease": "etcd's, and what `tidegate.client` hands out of a share group: both are for a time",
    "Login": "how a Kafka client comes in, and what `tidegate.client` shows",
    "Job": "what a log has threads do, and what `tidegate.work` hands out: the word of those who come from queues",
    "NoSuchRecord": "the broker's refusal, and what `tidegate.admin` raises for it",
    "TooLate": "the broker's refusal, and what `tidegate.admin` raises for it",
}

# Their names are those of the OpenAPI document or of Kafka's messages.
NAMED_BY_OTHERS = (*GENERATED, "wire/http/routes/")

PARAMETERS_MAX = 10

# Constructors that take more: of values, which hold what they are told and do nothing. A service is never among them.
RECORDS = {
    "tidegate/world.py:World": "what a node is given of a machine, by name",
    "coordinators/group/config.py:GroupSettings": "keys of the configuration",
    "coordinators/group/consumer/requests.py:DescribedConsumer": "what is told of a member",
    "coordinators/group/consumer/requests.py:HeartbeatRequest": "the fields of a request",
    "coordinators/group/streams/requests.py:DescribedStreamsMember": "what is told of a member",
    "coordinators/group/streams/requests.py:StreamsHeartbeatRequest": "the fields of a request",
    "coordinators/group/requests.py:JoinRequest": "the fields of a request",
    "coordinators/release/pending_records.py:DelayStatistics": "figures",
    "coordinators/release/pending_records.py:PendingRecord": "what is told of a record",
    "coordinators/release/pending_records.py:PriorityStatistics": "figures",
    "coordinators/tracing/spans.py:Span": "the fields of a span",
    "coordinators/transaction/transaction.py:Transaction": "what a record of the coordinator's topic holds",
    "coordinators/share/config.py:ShareGroupSettings": "keys of the configuration",
    "engine/config/keys.py:ConfigKey": "what is declared of a key",
    "engine/log/types.py:LogConfig": "keys of the configuration",
    "engine/records/layout.py:BatchHeader": "the fields of a header",
    "engine/stage/config.py:ExtensionConfig": "keys of the configuration",
    "engine/stage/pending.py:PendingRow": "the columns of a row",
    "engine/stage/state.py:StageState": "what a checkpoint holds",
    "engine/trace/query.py:TraceQuery": "what can be searched for",
    "wire/http/pending.py:Pending": "a document",
    "wire/http/routes/traces.py:TraceSummary": "a document",
    "wire/http/routing.py:Route": "what is declared of a route",
    "wire/kafka/config.py:Limits": "keys of the configuration",
    "wire/tls/identity.py:TlsSources": "keys of the configuration",
}

MACHINE_PATH = re.compile(r"(?<![\w./$}-])/(?:" + "|".join(("work", "root", "home")) + r")(?:/|\b)")
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")


@cache
def _files() -> tuple[str, ...]:
    # The checkout may belong to another user than the one who runs the tests, as in a container.
    command = [
        "git",
        "-c",
        "safe.directory=*",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "-z",
    ]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file()))


@cache
def _text(name: str) -> str | None:
    try:
        return (ROOT / name).read_bytes().decode()
    except UnicodeDecodeError:
        return None


def _texts() -> Iterator[tuple[str, str]]:
    for name in _files():
        if (text := _text(name)) is not None:
            yield name, text


def _lines() -> Iterator[tuple[str, str]]:
    for name, text in _texts():
        for number, line in enumerate(text.split("\n"), 1):
            yield f"{name}:{number}", line


def _modules(*, generated: bool = False) -> list[str]:
    return [name for name in _files() if name.endswith(".py") and (generated or not _is_generated(name))]


def _is_generated(name: str) -> bool:
    return name.startswith(GENERATED)


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse(_text(name) or "", name)


def _dotted(node: ast.AST) -> str:
    """`os.path.join` for the expression of that form, "" for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (value := _dotted(node.value)):
        return f"{value}.{node.attr}"
    return ""


def _calls(name: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Call) and (called := _dotted(node.func)):
            yield f"{name}:{node.lineno}", called


def _none(complaints: list[str]) -> None:
    assert not complaints, "\n" + "\n".join(complaints)


def test_every_module_says_what_it_is_for() -> None:
    _none([name for name in _modules(generated=True) if _tree(name).body and not ast.get_docstring(_tree(name))])


def test_files_are_short() -> None:
    lengths = {name: (_text(name) or "").count("\n") for name in _modules()}
    _none([f"{name}: {lines} lines" for name, lines in lengths.items() if lines > FILE_LINES_MAX])


def test_functions_are_short() -> None:
    complaints = []
    for name in _modules():
        for node in ast.walk(_tree(name)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    complaints.append(f"{name}:{node.lineno} {node.name}: {lines} lines")
    _none(complaints)


def test_nothing_is_left_for_later_in_a_comment() -> None:
    _none([f"{place}: {line.strip()}" for place, line in _lines() if UNFINISHED.search(line)])


def test_no_tabs_and_no_trailing_space() -> None:
    # make wants tabs, and Go's own formatter writes them.
    tabbed = ("Makefile", ".mk", ".go", "go.mod")
    _none(
        [
            place
            for place, line in _lines()
            if line != line.rstrip() or ("\t" in line and not place.split(":")[0].endswith(tabbed))
        ]
    )


def test_no_merge_is_left_halfway() -> None:
    _none([place for place, line in _lines() if line.startswith(("<" * 7, ">" * 7))])


def test_files_end_with_one_newline() -> None:
    _none([name for name, text in _texts() if text and (not text.endswith("\n") or text.endswith("\n\n"))])


def test_only_programs_print() -> None:
    quiet = [name for name in _modules() if name.startswith(PRODUCT) and not name.startswith(MAY_PRINT)]
    _none([place for name in quiet for place, called in _calls(name) if called == "print"])


def test_the_engine_is_given_time_files_and_randomness() -> None:
    pure = [name for name in _modules() if name.startswith("engine/") and name not in ENGINE_DOORS]
    _none(
        [
            f"{place}: {called}"
            for name in pure
            for place, called in _calls(name)
            if called in IMPURE or called.startswith(IMPURE_MODULES)
        ]
    )


def test_the_engine_imports_no_impure_function_by_name() -> None:
    complaints = []
    for name in _modules():
        if not name.startswith("engine/") or name in ENGINE_DOORS:
            continue
        for node in ast.walk(_tree(name)):
            if isinstance(node, ast.ImportFrom):
                imported = {f"{node.module}.{alias.name}" for alias in node.names}
                bad = {each for each in imported if each in IMPURE or each.startswith(IMPURE_MODULES)}
                complaints += [f"{name}:{node.lineno}: {each}" for each in sorted(bad)]
    _none(complaints)


def _holds_code(name: str) -> bool:
    """Whether there is something to test: values that are only declared do nothing."""
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(_tree(name)))


def _test_name(module: Path) -> str:
    return f"test_{(module.parent.name if module.stem == '__init__' else module.stem).strip('_')}.py"


def test_every_long_module_has_a_test_file_of_its_name() -> None:
    tests = {(Path(name).parts[1], Path(name).name) for name in _files() if name.startswith("tests/")}
    complaints = []
    for name in _modules():
        module = Path(name)
        package = module.parts[0]
        short = (_text(name) or "").count("\n") <= UNMIRRORED_LINES_MAX
        if package not in PRODUCT or short or name in UNMIRRORED or not _holds_code(name):
            continue
        if (package, _test_name(module)) not in tests:
            complaints.append(f"{name}: no {_test_name(module)} under tests/{package}/")
    _none(complaints)


def test_the_allowlist_of_long_modules_without_tests_of_their_name_is_current() -> None:
    _none([name for name in UNMIRRORED if (_text(name) or "").count("\n") <= UNMIRRORED_LINES_MAX])


def test_a_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for name in _modules():
        if name.startswith(PRODUCT) and not name.startswith(NAMED_BY_OTHERS):
            for node in _tree(name).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(name)
    _none(
        [f"{word}: {', '.join(where)}" for word, where in places.items() if len(where) > 1 and word not in SAID_TWICE]
    )
    _none([f"{word} stands once: take it off the list" for word in SAID_TWICE if len(places.get(word, ())) < 2])


def _functions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (each for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def _is_own(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and _dotted(target.value) in ("self", "cls")


@cache
def _methods() -> frozenset[str]:
    """Names that methods have, and no attribute with a value."""
    methods: set[str] = set()
    values: set[str] = set()
    for name in _product():
        for made in _classes(_tree(name)):
            for each in _functions(made.body):
                is_value = any("property" in ast.unparse(decorator) for decorator in each.decorator_list)
                (values if is_value else methods).add(each.name)
            values |= {ast.unparse(each.target) for each in made.body if isinstance(each, ast.AnnAssign)}
        for node in ast.walk(_tree(name)):
            values |= {target.attr for target, _ in _assigned(node) if _is_own(target)}
    return frozenset(methods - values)


def _assigned(node: ast.AST) -> Iterator[tuple[Any, ast.expr]]:
    """The targets of an assignment, each with its value."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=True)
            else:
                yield target, node.value


def _is_callback(value: ast.expr, functions: Set[str], own_methods: Set[str]) -> bool:
    """Whether an expression is a function (named, bound, partial, or made on the spot), or the object itself."""
    if isinstance(value, ast.Lambda):
        return True
    if isinstance(value, ast.Call):
        return _dotted(value.func).rpartition(".")[2] == "partial"
    if isinstance(value, ast.Name):
        return value.id in functions or value.id == "self"
    if not isinstance(value, ast.Attribute):
        return False
    return value.attr in _methods() or (_is_own(value) and value.attr in own_methods)


def _wirings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Attributes of others that are set to a function."""
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own_methods = {each.name for made in _classes(tree) for each in _functions(made.body)}
    for node in ast.walk(tree):
        for target, value in _assigned(node):
            if (
                isinstance(target, ast.Attribute)
                and not _is_own(target)
                and _is_callback(value, functions, own_methods)
            ):
                yield target.lineno, f"{ast.unparse(target)} = {ast.unparse(value)}"


def _product() -> list[str]:
    return [name for name in _modules() if name.startswith(tuple(f"{package}/" for package in PRODUCT))]


def test_no_object_is_wired_by_assigning_to_its_attributes() -> None:
    _none([f"{name}:{line}: {text}" for name in _product() for line, text in _wirings(_tree(name))])


@pytest.mark.parametrize(
    ("statement", "is_wiring"),
    [
        ("other.settle = self.settle", True),
        ("self.other.on_lost = lambda: None", True),
        ("first.before, first.after = second.flush, second.close", True),
        ("other.on_done = partial(work, 1)", True),
        ("other.on_done = work", True),
        ("files.relief = self", True),
        ("self.on_done = work", False),
        ("other.count = self.count", False),
        ("other.name = name", False),
    ],
)
def test_wiring_by_assignment_is_recognised(statement: str, is_wiring: bool) -> None:
    source = (
        f"def work(): pass\nclass A:\n    count: int\n    def settle(self): pass\n    def f(self):\n        {statement}"
    )
    assert bool(list(_wirings(ast.parse(source)))) == is_wiring


def _parameters(made: ast.ClassDef) -> int:
    """How many a class's constructor takes. A `Struct` cannot keep its state out of it: there only what must be given
    counts."""
    for each in made.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            return len(each.args.posonlyargs + each.args.args + each.args.kwonlyargs) - 1
    decorators = [_dotted(each.func if isinstance(each, ast.Call) else each) for each in made.decorator_list]
    bases = {_dotted(each).rpartition(".")[2] for each in made.bases}
    if not bases & {"Struct", "NamedTuple"} and not set(decorators) & {"define", "frozen", "dataclass"}:
        return 0
    fields = [each for each in made.body if isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each)]
    if "Struct" in bases:
        return sum(each.value is None for each in fields)
    return sum(each.value is None or "init=False" not in ast.unparse(each.value) for each in fields)


def test_constructors_take_few_parameters() -> None:
    complaints = []
    for name in _product():
        for made in _classes(_tree(name)):
            count = _parameters(made)
            if count > PARAMETERS_MAX and f"{name}:{made.name}" not in RECORDS:
                complaints.append(f"{name}:{made.lineno}: {made.name} takes {count} parameters")
    _none(complaints)


def test_the_allowlist_of_records_is_current() -> None:
    found = {
        f"{name}:{made.name}"
        for name in _product()
        for made in _classes(_tree(name))
        if _parameters(made) > PARAMETERS_MAX
    }
    _none(sorted(set(RECORDS) - found))


def _dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    required = project["build-system"]["requires"] + project["project"]["dependencies"]
    for extra in project["project"]["optional-dependencies"].values():
        required += extra
    return sorted({re.split(r"[^\w.-]", requirement)[0] for requirement in required})


@pytest.mark.parametrize("dependency", _dependencies())
def test_a_dependency_has_its_reason(dependency: str) -> None:
    rows = [line for line in (ROOT / "docs/dependencies.md").read_text().splitlines() if line.startswith("|")]
    assert any(row.startswith(f"| {dependency} |") for row in rows), "give it a row in docs/dependencies.md"


def test_no_row_for_a_dependency_that_is_gone() -> None:
    rows = re.findall(r"^\| ([a-z][\w.-]*) \| (?!what)", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    system = {"chromium", "etcd", "go", "java", "kcat", "maven", "valgrind"}
    _none(sorted(set(rows) - set(_dependencies()) - system))


def test_decisions_are_numbered_once() -> None:
    names = [Path(name).name for name in _files() if name.startswith("docs/adr/") and name != "docs/adr/index.md"]
    _none([name for name in names if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)])
    _none([number for number, count in Counter(name[:4] for name in names).items() if count > 1])


def test_no_path_of_a_machine() -> None:
    _none([f"{place}: {line.strip()}" for place, line in _lines() if MACHINE_PATH.search(line)])


def test_the_changelog_has_a_part_for_what_is_coming() -> None:
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_readme_opens_with_how_to_run_and_test() -> None:
    opening = (ROOT / "README.md").read_text().split("\n## ")[0]
    assert "make serve" in opening
    assert "make test" in opening
