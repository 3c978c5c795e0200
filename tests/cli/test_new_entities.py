"""``predict --paths`` and ``--on-unknown`` for models of nodes, and ``grow --counts`` and ``--update``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import QUICK, Files, Outcome, Run

import honlearn as hl


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """Paths with two entities that the model has not seen."""
    file = tmp_path / "new.csv"
    file.write_text("trip,stop\n1,s3\n1,h0\n1,new\n2,new\n2,s1\n3,other\n3,s2\n")
    return file


READ = ("--sequence", "trip", "--entity", "stop")


def rows_of(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    return {row["node"]: row for row in json.loads(outcome.out)}


def test_new_paths_add_entities(honlearn: Run, model: Path, new: Path) -> None:
    rows = rows_of(honlearn("predict", model, "--paths", new, *READ, "--json"))
    known = hl.load_model(model)
    assert set(rows) == {*known.network.vocabulary.names, "new", "other"}
    updated = known.update(str(new), sequence="trip", entity="stop")
    proba = updated.predict_proba(["new", "other"])
    assert np.allclose([[rows[n]["p_c0"], rows[n]["p_c1"]] for n in ("new", "other")], proba, atol=1e-5)
    some = rows_of(honlearn("predict", model, "--paths", new, *READ, "--nodes", "new,s3", "--json"))
    assert list(some) == ["new", "s3"]
    assert some["new"] == rows["new"]


def test_unknown_names(honlearn: Run, model: Path, new: Path) -> None:
    def asked(*words: object) -> Outcome:
        return honlearn("predict", model, "--nodes", "s1,s33,nobody", "--json", *words)

    refused = asked()
    assert (refused.code, refused.out) == (2, "")
    assert "2 of 3 names are not among the 24 entities: 's33', 'nobody'" in refused.err
    assert "did you mean 's3'? Or give --on-unknown skip or predict" in refused.err
    assert asked("--on-unknown", "error") == refused
    skipped = asked("--on-unknown", "skip")
    assert list(rows_of(skipped)) == ["s1"]
    assert skipped.err == "note: 2 names are not in the network and left out: s33, nobody\n"
    rows = rows_of(asked("--on-unknown", "predict"))
    assert list(rows) == ["s1", "s33", "nobody"]
    assert rows["s33"]["p_c0"] == rows["nobody"]["p_c0"]
    # Of names that are in no path even so.
    both = honlearn("predict", model, "--paths", new, *READ, "--nodes", "new,nobody", "--on-unknown", "skip")
    assert "1 name is not in the network and left out: nobody" in both.err
    assert both.out.splitlines()[1].startswith("new,")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--on-unknown", "skipp"],
            "must be error, skip, predict. Got 'skipp' instead; did you mean 'skip'?",
        ),
        (["--delimiter", ","], "--delimiter: how new paths are read; name them with --paths"),
        (["--paths", "none.txt"], "none.txt"),
    ],
)
def test_errors_are_one_line(honlearn: Run, model: Path, words: list[str], message: str) -> None:
    outcome = honlearn("predict", model, *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_other_models_are_not_updated(honlearn: Run, files: Files, new: Path, tmp_path: Path) -> None:
    honlearn("train", *files, "-o", tmp_path / "majority", "--model", "majority")
    refused = honlearn("predict", tmp_path / "majority", "--paths", new, *READ)
    assert (refused.code, "train it again on all paths" in refused.err) == (2, True)
    unknown = ("predict", tmp_path / "majority", "--nodes", "nobody", "--on-unknown")
    assert "for ensembles of nodes" in honlearn(*unknown, "predict").err
    assert honlearn(*unknown, "skip").code == 0


def test_a_model_of_paths_that_were_counted_grows_on(honlearn: Run, tmp_path: Path) -> None:
    data = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    lines = [" ".join(path) for path in data.paths]
    (tmp_path / "paths.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "new.txt").write_text("s3 h0 new\nnew s1\n")
    labels = "".join(f"{node},{label}\n" for node, label in data.labels.items())
    (tmp_path / "labels.csv").write_text(f"node,label\n{labels}")
    model = tmp_path / "model"
    fixed = ("--auto", "--order", 2, "--tau", 1, "--min-support", 1)
    trained = honlearn(
        "train", tmp_path / "paths.txt", tmp_path / "labels.csv", "-o", model, *fixed, *QUICK, "learner=sage"
    )
    assert trained.code == 0, trained.err
    assert (model / "paths.counts").is_file()
    rows = rows_of(honlearn("predict", model, "--paths", tmp_path / "new.txt", "--json"))
    assert {"new", "s3"} <= set(rows)
    fitted = hl.load_model(model)
    updated, order = fitted.update(str(tmp_path / "new.txt")), fitted.network.max_order
    assert updated.network_ == hl.grow([*data.paths, ["s3", "h0", "new"], ["new", "s1"]], order, tau=1)


def test_networks_grow_on_from_counts(honlearn: Run, tmp_path: Path) -> None:
    old, more = tmp_path / "old.txt", tmp_path / "more.txt"
    old.write_text("A C D\n" * 5 + "B C E\n" * 2)
    more.write_text("B C E\n" * 4 + "F C\n")
    (tmp_path / "all.txt").write_text(old.read_text() + more.read_text())

    def grow(*words: object) -> Outcome:
        return honlearn("grow", *words)

    assert grow(old, "-o", tmp_path / "old.hon", "--counts", tmp_path / "old.counts").code == 0
    for rule in ((), ("--tau", 0.5), ("--alpha", 1), ("--order", 1)):
        assert grow(more, "--update", tmp_path / "old.counts", "-o", tmp_path / "a.hon", *rule).code == 0
        grow(tmp_path / "all.txt", "-o", tmp_path / "b.hon", *rule)
        assert (tmp_path / "a.hon").read_bytes() == (tmp_path / "b.hon").read_bytes()
    # A network is updated from the counts beside it, by its own rule unless one is given.
    for rule, given in (((), ()), (("--tau", 0.5), ()), ((), ("--order", 1))):
        beside = ("-o", tmp_path / "old.hon", "--counts", tmp_path / "old.counts")
        assert grow(old, *beside, *rule).code == 0
        assert grow(more, "--update", tmp_path / "old.hon", "-o", tmp_path / "a.hon", *given).code == 0
        grow(tmp_path / "all.txt", "-o", tmp_path / "b.hon", *rule, *given)
        assert (tmp_path / "a.hon").read_bytes() == (tmp_path / "b.hon").read_bytes()
    # Again, from the counts that an update wrote.
    step = ("--update", tmp_path / "old.counts", "--counts", tmp_path / "both.counts")
    assert grow(more, *step, "-o", tmp_path / "a.hon").code == 0
    assert hl.load_counts(tmp_path / "both.counts").grow() == hl.grow(str(tmp_path / "all.txt"))


def test_counts_for_the_order_that_evidence_has(honlearn: Run, tmp_path: Path) -> None:
    paths = tmp_path / "paths.txt"
    paths.write_text(("A C D\nB C E\n") * 30)
    auto = ("--order", "auto", "-o", tmp_path / "a.hon")
    assert honlearn("grow", paths, *auto, "--counts", tmp_path / "a.counts").code == 0
    assert hl.load_counts(tmp_path / "a.counts").order == 4
    assert honlearn("grow", paths, *auto, "--update", tmp_path / "a.counts").code == 0
    assert hl.load_network(tmp_path / "a.hon") == hl.grow([["A", "C", "D"], ["B", "C", "E"]] * 60, "auto")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--update", "net.hon"], "a network holds the contexts that were kept, not the counts of all"),
        (["--update", "a.hon"], "a.counts: these are not the counts that a.hon was grown from"),
        (["--update", "a.count"], "no such file; did you mean 'a.counts'?"),
        (["--update", "a.counts", "--order", "3"], "counted for orders up to 2, and --order is 3"),
        (["--update", "a.counts", "--order", "auto"], "grow with --order auto from all paths"),
        (
            ["--update", "a.counts", "--counts", "a.counts"],
            "would replace a.counts, which this command reads",
        ),
        (["--counts", "b.hon"], "counts are written to files that end in .counts"),
    ],
)
def test_errors_of_counts_are_one_line(
    honlearn: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paths.txt").write_text("A C D\nB C E\n")
    hl.count_grams([["A", "B"]], 2).save("a.counts")
    hl.grow([["A", "B"]]).save("net.hon")
    hl.grow([["A", "C"]]).save("a.hon")
    outcome = honlearn("grow", "paths.txt", "-o", "out.hon", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not Path("out.hon").exists()
