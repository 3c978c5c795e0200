"""Targets: run folders (records, summaries, artefacts), searches that go on, files of folds and spaces."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fuzz.target import Target, labels_of, small_network


def _make_run(folder: Path) -> None:
    """Evaluate two models on nodes and one on links, as the command does."""
    from honlearn.cli import main

    parts = folder.parent / "parts"
    parts.mkdir()
    network = small_network()
    network.save(parts / "network.hon")
    rows = "".join(f"{name},{label}\n" for name, label in labels_of(network).items())
    (parts / "labels.csv").write_text("node,label\n" + rows, "utf-8")
    quick = [
        word for key in ("max_epochs=2", "n_learners=2", "widths=4") for word in ("--set", f"dge-bag:{key}")
    ]
    commands = {
        "nodes": [str(parts / "labels.csv"), "--model", "majority", "--model", "dge-bag", "--folds", "2"],
        "links": ["--task", "links", "--model", "dge-bag"],
    }
    for task, words in commands.items():
        run = ["evaluate", str(parts / "network.hon"), *words, "-o", str(folder / task), *quick]
        try:
            main(run)
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"honlearn {' '.join(run)} ended with {end.code}") from None
    for file in [*folder.rglob("*.json"), *folder.rglob("*.jsonl")]:
        file.write_text(_steady(file.read_text("utf-8"), parts), "utf-8")


def _steady(text: str, parts: Path) -> str:
    """Return a text without clocks and temporary folders, so that a case is the same in every run."""
    text = re.sub(r'("\w*(?:seconds|memory|_mb|bytes)\w*": )[\d.e+-]+', r"\g<1>1.5", text)
    text = re.sub(r'"\d{4}-\d\d-\d\dT[^"]*"', '"2026-01-01T00:00:00+00:00"', text)
    return text.replace(str(parts.parent), "/somewhere")


def _use_run(path: Path) -> None:
    from honlearn.reporting.build import build_report
    from honlearn.results.runs import read_run

    build_report(read_run(path))


def _use_results(path: Path) -> None:
    from honlearn.pages.results_page import make_page

    make_page([str(path)], path.parent / "results.md")


def _search(folder: Path, trials: int) -> Any:
    from honlearn.experiments.search import Budget, search
    from honlearn.experiments.spaces import Space

    space = Space("own", {"widths": ((4,), (8, 8)), "dropout": (0.1, 0.2, 0.3)})
    return search(
        lambda point: 0.5 if point is None else point["dropout"], space, Budget(None, trials), 0, folder
    )


def _make_search(folder: Path) -> None:
    _search(folder / "search", 4)
    file = folder / "search" / "records.jsonl"
    file.write_text(_steady(file.read_text("utf-8"), folder), "utf-8")


def _use_search(path: Path) -> None:
    _search(path, 6).described()


def _make_settings(folder: Path) -> None:
    (folder / "folds.json").write_text(json.dumps([["A", "B"], ["a", "b"]]), "utf-8")
    space = {"dge-bag": {"n_learners": [2, 4], "widths": [[4], [8, 8]]}}
    (folder / "spaces.json").write_text(json.dumps(space), "utf-8")


def _use_settings(path: Path) -> None:
    from honlearn.experiments.folds import read_folds
    from honlearn.experiments.registry import find_model
    from honlearn.experiments.spaces import own_space, read_spaces

    if path.name == "folds.json":
        known = labels_of(small_network())
        read_folds(path).tests(list(known), list(known.values()), 0)
    else:
        for model, choices in read_spaces(path).items():
            own_space(find_model(model), choices).described()


def _make_link_test(folder: Path) -> None:
    from honlearn.results.link_tests import LinkTest, keep_test

    pairs = tuple((f"n{i}", f"n{i + 1}") for i in range(6))
    keep_test(folder, LinkTest(pairs, ("linked", "linked", "uniform", "uniform", "degree", "degree")))


def _use_link_test(path: Path) -> None:
    from honlearn.results.link_tests import read_test

    for file in path.iterdir():
        test = read_test(path.parent, file.stem)
        if test is not None:
            test.of_kind("linked")


TARGETS = [
    Target("run", _make_run, _use_run, cases=30),
    Target("results", _make_run, _use_results, cases=15),
    Target("link-tests", _make_link_test, _use_link_test, cases=60),
    Target("search", _make_search, _use_search, cases=30),
    Target("folds-and-spaces", _make_settings, _use_settings),
]
