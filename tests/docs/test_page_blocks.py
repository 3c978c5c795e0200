"""Python blocks of pages that are not executed when the site is built, and their commands, on small data.

Each page has a beginning here: the names and files that its blocks speak of. Then its blocks run as they
stand, one after another, in a folder of their own.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import honlearn as hl
from honlearn.cli import main

pytest.importorskip("torch")

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SMALL = hl.Training(max_epochs=5)
OUTCOMES = {"D": "left", "E": "right"}


def paths(n: int = 40, more: str = "") -> list[list[str]]:
    """Return paths whose end depends on their start."""
    ends = [["ORF", "LGA", "ORD"], ["MIA", "LGA", "DFW"], ["A", "B", "C", "D"], ["B", "A", "C", "E"]]
    ends += [[more, "A", "C", "D"]] if more else []
    return ends * n


def classifier(network: Any) -> hl.DGEClassifier:
    """Return a small bag that has learned where the entities of the paths are."""
    labels = {
        "ORF": "4",
        "LGA": "2",
        "ORD": "5",
        "MIA": "4",
        "DFW": "6",
        "A": "2",
        "B": "5",
        "C": "6",
        "D": "4",
    }
    model = hl.DGEClassifier(network, "sage", n_learners=3, training=SMALL, n_threads=1, random_state=0)
    return model.fit(list(labels), list(labels.values()))


def outcomes() -> tuple[list[list[str]], list[str]]:
    """Return paths without their ends, and the ends as classes."""
    seen = [path for path in paths(20) if path[-1] in OUTCOMES]
    return [path[:-1] for path in seen], [OUTCOMES[path[-1]] for path in seen]


def write_lines(name: str, lines: list[list[str]]) -> None:
    """Write one path per line."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("".join(" ".join(line) + "\n" for line in lines), "utf-8")


def of_explanations() -> dict[str, Any]:
    hon = hl.grow(paths())
    links = hl.DGELinkPredictor(hon, n_learners=2, training=SMALL, n_threads=1, random_state=0)
    known, classes = outcomes()
    return {
        "clf": classifier(hon),
        "nodes": ["ORF", "LGA"],
        "lp": links.fit(),
        "path_classifier": hl.PathClassifier(random_state=0).fit(known, classes),
    }


def of_new_entities() -> dict[str, Any]:
    write_lines("february.txt", paths(20, "ABC"))
    return {"clf": classifier(hl.grow(paths()))}


def of_scaling() -> dict[str, Any]:
    write_lines("paths/a.txt", paths())
    write_lines("paths/b.txt", paths(10))
    labels = {"ORF": "4", "LGA": "2", "ORD": "2", "MIA": "4", "DFW": "4", "A": "2", "B": "4", "C": "2"}
    return {"hl": hl, "nodes": list(labels), "classes": list(labels.values()), "labels": labels}


def of_uncertainty() -> dict[str, Any]:
    write_lines("paths.txt", paths())
    known, classes = outcomes()
    names = ["ORF", "LGA", "ORD", "MIA", "DFW", "A", "B", "C", "D"]
    return {
        "hl": hl,
        "hon": hl.grow(paths()),
        "nodes": names,
        "labels": ["4", "2", "5", "4", "6", "2", "5", "6", "4"],
        "new_nodes": ["E", "LGA"],
        "paths": known,
        "outcomes": classes,
        "new_paths": known[:3],
        "other_paths": paths(10),
    }


# Blocks that name a cluster run on local processes here; defaults that take minutes on small ones.
SMALLER = {
    'hl.open_executor("ray")': "hl.open_executor(2)",
    '"sage", executor=pool)': '"sage", n_learners=2, training=SMALL, executor=pool)',
    "hl.evaluate(counts, labels, executor=pool)": (
        'hl.evaluate(counts, labels, models=["majority"], folds=2, executor=pool)'
    ),
    "hl.DGEClassifier(hon, random_state=0)": "classifier_of(hon)",
}
PAGES = {
    "explanations.md": of_explanations,
    "new_entities.md": of_new_entities,
    "scaling.md": of_scaling,
    "uncertainty.md": of_uncertainty,
}


def test_every_page_with_python_that_the_site_does_not_execute_is_here() -> None:
    found = {
        str(page.relative_to(DOCS))
        for page in DOCS.rglob("*.md")
        if "_build" not in page.parts and "\n```python\n" in page.read_text("utf-8")
    }
    assert found == set(PAGES)
    text = "".join((DOCS / page).read_text("utf-8") for page in PAGES)
    assert all(whole in text for whole in SMALLER)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"SMALL": SMALL, "classifier_of": small_bag, **PAGES[page]()}
    blocks = [text for kind, text in BLOCK.findall((DOCS / page).read_text("utf-8")) if kind == "python"]
    assert blocks
    for block in blocks:
        for whole, smaller in SMALLER.items():
            block = block.replace(whole, smaller)
        exec(compile(block, page, "exec"), names)


def small_bag(network: Any) -> hl.DGEClassifier:
    """Return what stands for the default classifier of a page, so small that it takes a second."""
    return hl.DGEClassifier(network, "sage", n_learners=6, training=SMALL, n_threads=1, random_state=0)


def test_commands_of_the_page_on_new_paths_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines of shell of docs/new_entities.md that are of ours, on two small files."""
    monkeypatch.chdir(tmp_path)
    write_lines("january.txt", paths())
    write_lines("february.txt", [*paths(20, "ABC"), ["XYZ", "A", "C"]])
    classifier(hl.grow(paths())).save("model")
    lines = re.findall(r"^\$ (honlearn .*)$", (DOCS / "new_entities.md").read_text("utf-8"), re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        main_line(line)
    write_lines("both.txt", [*paths(), *paths(20, "ABC"), ["XYZ", "A", "C"]])
    main_line("honlearn grow both.txt -o both.hon --tau 10")
    assert Path("air2.hon").read_bytes() == Path("both.hon").read_bytes()
    assert "ABC" in capsys.readouterr().out
    assert "ABC" in Path("predictions.csv").read_text("utf-8")


def main_line(line: str) -> None:
    """Run a line of shell that begins with honlearn, in this process."""
    with pytest.raises(SystemExit, match=r"^0$"):
        main(shlex.split(line, comments=True)[1:])
