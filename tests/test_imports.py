"""What may import what: the one-way flow of the package, and what never loads torch, or not even NumPy."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import honlearn
from honlearn.cli import main

ROOT = Path(honlearn.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

BASE = {
    "conformal",
    "deferred",
    "disk_arrays",
    "errors",
    "executors",
    "hash_table",
    "interrupts",
    "jit",
    "labels",
    "mixing",
    "progress",
    "seeds",
    "sizes",
    "stored",
    "versions",
    "writing",
}
# What stands at the start of the flow uses only errors, and these what is named.
WITHIN_BASE = {
    "mixing": {"jit"},
    "hash_table": {"jit", "mixing"},
    "executors": {"deferred", "interrupts"},
    "disk_arrays": {"sizes"},
}
FLOW = [
    "paths",
    "hon",
    "sampling",
    "engine",
    "learners",
    "ensemble",
    "path_kernel",
    "tasks",
    "baselines",
    "experiments",
    "pipeline",
    "cli",
]
BESIDE = {
    "datasets": {"paths"},
    "results": {"paths", "hon"},
    "reporting": {"paths", "hon", "datasets", "results"},
    "pages": {"hon", "results", "experiments"},
}
# Parts beside the flow, and the first part of the flow that may use them.
USED_FROM = {"datasets": "experiments", "results": "experiments", "reporting": "pipeline", "pages": "cli"}
WITHOUT_TORCH = {*BASE, *BESIDE, "paths", "hon", "cli", "__init__", "__main__"}


def allowed(part: str) -> set[str]:
    """Return the parts that a part may import."""
    if part == "errors":
        return set()
    if part in BASE:
        return {"errors"} | WITHIN_BASE.get(part, set())
    if part in BESIDE:
        return BASE | BESIDE[part]
    place = FLOW.index(part)
    beside = {name for name, first in USED_FROM.items() if FLOW.index(first) <= place}
    return BASE | set(FLOW[:place]) | beside


def part_of(file: Path) -> str:
    return file.relative_to(ROOT).with_suffix("").parts[0]


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted name of everything that is imported, at whatever depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_start(tree: ast.Module) -> Iterator[str]:
    """Yield what is imported when the module is: not in functions, not for type checkers alone."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Try)):
            yield from imports(node)


def test_every_part_has_its_place_in_the_flow() -> None:
    parts = {part_of(file) for file in MODULES} - {"__init__", "__main__"}
    assert parts <= BASE | set(FLOW) | set(BESIDE)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_point_one_way(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    part = part_of(file)
    if part not in ("__init__", "__main__"):
        others = {name.split(".")[1] for name in imports(tree) if name.startswith("honlearn.")}
        assert others - {part, "__version__"} <= allowed(part)
    if part in WITHOUT_TORCH:
        heavy = {name.partition(".")[0] for name in at_start(tree)}
        assert not heavy & {"torch", "torch_geometric", "sklearn", "safetensors"}


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_module_is_one_idea_that_says_what_it_is(file: Path) -> None:
    text = file.read_text("utf-8")
    assert ast.get_docstring(ast.parse(text)), "the docstring says what comes in and what goes out"
    assert text.count("\n") <= 400


def loaded_by(program: str, *arguments: str, whole: bool = False) -> set[str]:
    """Return the packages (`whole`: modules) that a fresh interpreter has loaded after `program`."""
    part = "name" if whole else "name.partition('.')[0]"
    ending = f"\nimport sys; print('LOADED', *{{{part} for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program + ending, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


def run(words: str) -> None:
    """Run a command in this process: what a test starts from is made without another interpreter."""
    with pytest.raises(SystemExit, match="0"):
        main(words.split())


HEAVY = {"torch", "torch_geometric", "sklearn"}
COMMAND = """
import sys
from honlearn.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", ["import honlearn", "import honlearn; dir(honlearn); honlearn.HonlearnError"]
)
def test_importing_the_library_is_light(program: str) -> None:
    assert not loaded_by(program) & (
        HEAVY | {"numpy", "numba", "pyarrow", "pandas", "scipy", "typer", "rich"}
    )


# One interpreter for many commands: each runs in a fork that has imported no more than every command does.
SERIES = """
import json, os, sys
from honlearn.cli import main
for words in json.loads(sys.argv[1]):
    if os.fork():
        os.wait()
        continue
    try:
        main(words)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    print("\\nLOADED", code, *{name.partition(".")[0] for name in sys.modules}, flush=True)
    os._exit(0)
"""


def loaded_by_each(code: int, commands: list[str]) -> dict[str, set[str]]:
    """Return the packages that each command has loaded; all of them end with this exit code."""
    words = json.dumps([command.split() for command in commands])
    done = subprocess.run([sys.executable, "-c", SERIES, words], capture_output=True, text=True, check=True)
    told = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("LOADED")]
    assert [int(line[0]) for line in told] == [code] * len(commands), done.stderr
    return {command: set(line[1:]) for command, line in zip(commands, told, strict=True)}


@pytest.mark.slow
def test_help_is_light() -> None:
    helps = ["--help", "grow --help", "info --help", "convert --help", "data get --help"]
    for words, loaded in loaded_by_each(0, helps).items():
        assert not loaded & (HEAVY | {"numpy", "numba", "pyarrow", "pandas", "scipy"}), words


@pytest.mark.slow
def test_commands_up_to_the_network_do_not_load_torch(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("A C D\nB C E\n" * 5)
    (tmp_path / "labels.csv").write_text("node,label\nA,x\nB,y\n")
    words = [
        f"grow {tmp_path}/paths.txt -o {tmp_path}/net.hon",
        f"info {tmp_path}/net.hon {tmp_path}/labels.csv",
        *(
            f"convert {tmp_path}/net.hon {tmp_path}/net{end}"
            for end in (".txt", ".parquet", ".graphml", ".net")
        ),
        "data list",
        f"data get us_flights -o {tmp_path}/flights",
        f"data get synthetic -o {tmp_path}/synthetic",
    ]
    program = "\n".join(
        f"import sys; sys.argv = ['honlearn', *{line.split()!r}]\n{COMMAND}" for line in words
    )
    assert not loaded_by(program) & HEAVY


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["", "--tau 1 --min-support 1", "--alpha 1 --order 3"])
def test_growing_from_text_loads_no_more_than_it_needs(tmp_path: Path, rule: str) -> None:
    (tmp_path / "paths.txt").write_text("A C D\nB C E\n" * 5)
    words = f"grow {tmp_path}/paths.txt -o {tmp_path}/net.hon {rule}"
    loaded = loaded_by(COMMAND, *words.split(), whole=True)
    assert not loaded & (HEAVY | {"pandas", "scipy.stats", "scipy.linalg", "matplotlib", "pyarrow"})
    assert "numba.np.arraymath" not in loaded_by(COMMAND, *words.split(), whole=True), (
        "the second run compiles"
    )


@pytest.mark.slow
def test_predicting_executes_no_more_than_it_needs(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("A C D\nB C E\n" * 5)
    (tmp_path / "labels.csv").write_text("node,label\nA,x\nB,y\nC,x\nD,y\nE,x\n")
    settings = "learner=sage n_learners=1 widths=4 max_epochs=2 n_threads=1"
    run(f"train {tmp_path}/paths.txt {tmp_path}/labels.csv -o {tmp_path}/model --set {settings}")
    words = f"predict {tmp_path}/model --nodes A -o {tmp_path}/table.csv"
    loaded = loaded_by(COMMAND, *words.split(), whole=True)
    assert "torch" in loaded
    assert not loaded & {
        "numpy.f2py.f2py2e",
        "scipy.optimize._minimize",
        "scipy.special._ufuncs",
        "scipy.stats._stats_py",
        "sklearn.linear_model",
        "sympy",
        "torch._dynamo",
        "torch_geometric",
    }


@pytest.mark.slow
def test_errors_in_words_and_files_are_told_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "net.hon").write_bytes(b"")
    (tmp_path / "labels.csv").write_text("node,label\nA,x\n")
    (tmp_path / "paths.txt").write_text("A B\n")
    wrong = [
        "predict {0}/no-model",
        "predict {0}/model --alpha 7",
        "predict {0}/model --on-unknown no",
        "train {0}/no.hon {0}/labels.csv -o {0}/out",
        "train {0}/net.hon {0}/no.csv -o {0}/out",
        "train {0}/net.hon {0}/labels.csv --label-column no -o {0}/out",
        "train {0}/net.hon {0}/labels.csv --model no -o {0}/out",
        "train {0}/net.hon {0}/labels.csv --task no -o {0}/out",
        "train {0}/net.hon {0}/labels.csv --set n_learnrs=2 -o {0}/out",
        "train {0}/net.hon {0}/labels.csv --set learner=no -o {0}/out",
        "train {0}/net.hon {0}/labels.csv --set training.max_epoch=2 -o {0}/out",
        "evaluate {0}/net.hon {0}/labels.csv --model gcn --set no=2 -o {0}/out",
        "evaluate {0}/net.hon {0}/labels.csv --model gcn --input no -o {0}/out",
        "evaluate {0}/net.hon {0}/labels.csv --model gcn --folds no -o {0}/out",
        "evaluate {0}/net.hon --model gcn -o {0}/out",
        "learn {0}/paths.txt {0}/labels.csv --set no=2 -o {0}/out",
    ]
    for words, loaded in loaded_by_each(2, [words.format(tmp_path) for words in wrong]).items():
        assert not loaded & {*HEAVY, "numba", "pandas", "scipy"}, words


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of nodes and one of links."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "paths.txt").write_text("A C D\nB C E\nD A B\nE B A\n" * 5)
    (folder / "labels.csv").write_text("node,label\nA,x\nB,y\nC,x\nD,y\n")
    fast = "--set learner=sage n_learners=1 max_epochs=1 n_threads=1"
    for words in (f"{folder}/labels.csv -o {folder}/nodes", f"--task links -o {folder}/links"):
        run(f"train {folder}/paths.txt {words} {fast}")
    return folder


@pytest.mark.slow
def test_names_that_a_model_lacks_are_told_before_torch_is_loaded(models: Path) -> None:
    wrong = [
        "predict {0}/nodes --nodes A,no",
        "predict {0}/links --node no",
        "predict {0}/links --pairs {0}/labels.csv",
        "explain {0}/nodes no",
        "explain {0}/nodes A --label no",
        "explain {0}/links A no",
        "report {0}/nodes --labels {0}/no.csv",
    ]
    for words, loaded in loaded_by_each(2, [words.format(models) for words in wrong]).items():
        assert not loaded & HEAVY, words


@pytest.mark.slow
def test_all_that_a_network_does_does_not_load_torch(tmp_path: Path) -> None:
    program = """
import sys, honlearn as hl
hon = hl.grow([["A", "C", "D"], ["B", "C", "E"]] * 5, order=3)
hon.dependencies(), hon.summary({"A": 1}), hon.random_walks(5, 4, seed=0).to_paths(), hon.first_order()
hon.relatives("C"), hon.transition("C|A"), hon._repr_html_()
hon.to_pandas(), hon.to_polars(), hon.to_arrow(), hon.to_scipy(), hon.to_networkx()
for end in (".hon", ".txt", ".parquet", ".net", ".graphml", ".gexf"):
    hon.save(sys.argv[1] + end)
for end in (".hon", ".txt", ".parquet"):
    assert hl.load_network(sys.argv[1] + end) == hon
assert len(hl.datasets.synthetic(n_paths=500).paths)
"""
    assert not loaded_by(program, str(tmp_path / "net")) & {"torch", "torch_geometric"}
