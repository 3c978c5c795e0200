"""``--auto`` and ``--input auto``: a network that suits the task, grown from paths, as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from command_line import Files, Run

import honlearn as hl
from honlearn.cli import main
from honlearn.cli.auto import print_tried
from honlearn.labels import read_labels
from honlearn.tasks.nested import nested

FAST = ("--set", "n_learners=2", "widths=8,8", "max_epochs=15", "n_threads=1")
# For half of the nodes.
LONGER = (*FAST, "max_epochs=80", "patience=30", "batch_size=8")


class Walks(NamedTuple):
    """Files of paths, as lines and as events, and of the labels."""

    paths: str
    events: str
    labels: str


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Walks:
    """Forty sources whose class only memory tells; one label is of no node."""
    folder = tmp_path_factory.mktemp("walks")
    data = hl.datasets.synthetic(2, n_nodes=40, n_hubs=2, n_destinations=2)
    lines, events = [], ["trip,place"]
    counts = data.paths.counts
    assert counts is not None
    for path, count in zip(data.paths, counts.tolist(), strict=True):
        for _ in range(count):
            events += [f"t{len(lines)},{place}" for place in path]
            lines.append(" ".join(path))
    rows = [f"{node},{label}" for node, label in data.labels.items()]
    for name, text in (
        ("paths.txt", lines),
        ("events.csv", events),
        ("labels.csv", ["node,label", *rows, "elsewhere,c0"]),
    ):
        (folder / name).write_text("\n".join(text) + "\n")
    return Walks(*(str(folder / name) for name in ("paths.txt", "events.csv", "labels.csv")))


@pytest.fixture(scope="module")
def chosen(walks: Walks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chosen") / "model"
    with pytest.raises(SystemExit, match="0"):
        main(["train", walks.paths, walks.labels, "-o", str(folder), "--auto", *FAST])
    return folder


def test_the_model_is_that_of_the_library(walks: Walks, chosen: Path) -> None:
    nodes, labels = read_labels(walks.labels)
    quick = {"n_learners": 2, "widths": (8, 8), "max_epochs": 15, "n_threads": 1, "random_state": 0}
    counts = hl.count_grams(walks.paths, order=3)
    clf = hl.DGEClassifier(counts, **nested(hl.DGEClassifier, quick)).fit(nodes[:-1], labels[:-1])
    loaded = hl.load_model(chosen)
    assert np.array_equal(loaded.predict_proba(nodes[:5]), clf.predict_proba(nodes[:5]))
    assert loaded.network == clf.network_
    assert loaded.network.n_conditional > 0


def test_the_table_of_the_race(honlearn: Run, walks: Walks, tmp_path: Path) -> None:
    outcome = honlearn("train", walks.paths, walks.labels, "-o", tmp_path / "m", "--auto", *FAST)
    assert outcome.code == 0, outcome.err
    assert "1 labelled node is not in the network and left out: elsewhere" in outcome.err
    facts, _, table = outcome.out.partition("learners and networks tried")
    assert "validation score" in facts
    for word in ("learner", "power", "order", "tau", "support", "nodes", "loss", "gain", "±"):
        assert word in table
    # One network is chosen: it comes first, with all members and the whole share.
    rows = [line.split() for line in table.splitlines() if line.split()[:1] == ["sage"]]
    assert len(rows) == 2
    assert rows[0][-2:] == ["2", "1.00"]
    assert all(row[-2:] == ["–", "–"] for row in rows[1:])
    assert "…" not in outcome.out


def test_json_has_the_race_as_a_list(honlearn: Run, walks: Walks, tmp_path: Path) -> None:
    words = ("train", walks.paths, walks.labels, "--auto", *FAST, "--json")
    facts = json.loads(honlearn(*words, "-o", tmp_path / "m").out)
    assert (facts["nodes"], facts["missing"]) == (40, 1)
    rows = facts["tried"]
    assert [row["chosen"] for row in rows].count(True) == 1
    assert {"order", "tau", "min_support", "nodes", "learners", "loss", "gain", "standard_error"} <= set(
        rows[0]
    )
    assert {(row["learner"], row["edge_power"]) for row in rows} == {("sage", 0.5)}
    assert [(row["members"], row["share"]) for row in rows if row["chosen"]] == [(2, 1.0)]
    assert [row["tau"] for row in rows if row["order"] == 1] == [None]
    # Reading events makes the same paths, and looking two steps back at most is enough for them.
    events = honlearn(
        *("train", walks.events, walks.labels, "--auto", *FAST, "--json", "-o", tmp_path / "e"),
        *("--sequence", "trip", "--entity", "place", "--order", 2),
    )
    assert events.code == 0, events.err
    again = json.loads(events.out)
    assert {row["order"] for row in again["tried"]} == {1, 2}
    assert hl.load_model(tmp_path / "e").network == hl.load_model(tmp_path / "m").network


def test_too_few_labels_to_hold_any_back(honlearn: Run, walks: Walks, tmp_path: Path) -> None:
    labels = tmp_path / "two.csv"
    labels.write_text("node,label\ns0,a\ns1,b\n")
    words = ("train", walks.paths, labels, "-o", tmp_path / "m", "--auto", *FAST)

    def refused(number: str) -> None:
        raise AssertionError(f"{number} is no JSON")

    rows = json.loads(honlearn(*words, "--json").out, parse_constant=refused)["tried"]
    assert {row["loss"] for row in rows} == {None}
    outcome = honlearn(*words)
    assert outcome.code == 0, outcome.err
    assert "inf" not in outcome.out


def test_fixed_parameters(honlearn: Run, walks: Walks, tmp_path: Path) -> None:
    words = ("train", walks.paths, walks.labels, "--auto", *FAST)
    outcome = honlearn(*words, "--tau", 3, "-o", tmp_path / "m", "--json")
    assert {row["tau"] for row in json.loads(outcome.out)["tried"]} == {None, 3.0}
    fixed = (*words, "--tau", 1, "--min-support", 2, "--set", "order=2")
    outcome = honlearn(*fixed, "-o", tmp_path / "f", "--json")
    assert "tried" not in json.loads(outcome.out)
    assert hl.load_model(tmp_path / "f").network == hl.grow(walks.paths, 2, 1.0, 2)
    assert "leave one network, so there was nothing to choose" in honlearn(*fixed, "-o", tmp_path / "f").out


def test_links(honlearn: Run, walks: Walks, tmp_path: Path) -> None:
    words = ("train", walks.paths, "-o", tmp_path / "m", "--auto", "--task", "links", "--json")
    outcome = honlearn(*words, "--set", "n_learners=2", "widths=6,6", "max_epochs=2", "n_threads=1")
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    assert facts["linked_pairs"] > 0
    assert [row["chosen"] for row in facts["tried"]].count(True) == 1
    rows = json.loads(honlearn("predict", tmp_path / "m", "--node", "s0", "--top", 2, "--json").out)
    assert len(rows) == 2


def test_words_that_do_not_go_together(honlearn: Run, walks: Walks, files: Files, tmp_path: Path) -> None:
    net, labels, out = files.net, files.labels, ("-o", tmp_path / "m")
    only = f"for paths, which a network is grown from; {net} is a network"
    cases = [
        ((net, labels, "--delimiter", "tab"), f"--delimiter: {only}"),
        ((net, labels, "--order-by", "t", "--tau", 1), f"--tau, --order-by: {only}"),
        ((net, labels, "--order", 2), f"--order: {only}"),
        (
            (net, labels, "--auto"),
            "--auto takes the paths that networks are grown from, and this is a network",
        ),
        ((walks.paths, labels, "--auto", "--model", "gcn"), "--auto: gcn cannot choose its network"),
        ((walks.paths, labels, "--auto", "--order", 0), "'order' parameter of train --auto must be a whole"),
        ((walks.paths, labels, "--auto", "--tau", -1), "'tau' parameter of train --auto must be a number at"),
        ((walks.paths, labels, "--auto", "--min-support", 0), "'min_support' parameter of train --auto must"),
        ((walks.paths, labels, "--auto", "--tau", 1, "--set", "tau=2"), "--tau and --set tau=: give one"),
        ((walks.paths, labels, "--auto", "--set", "order=9"), "looks 3 back at most; add --order 9"),
        (
            (walks.paths, labels, "--auto", "--order", 2, "--set", "order=3"),
            "--set order=3: --auto looks 2 back at most; add --order 3",
        ),
        ((walks.paths + "x", labels, "--auto"), "no such file"),
        ((net, labels, "--set", "tau=auto"), "tau cannot be chosen for a network that is grown already"),
    ]
    for given, message in cases:
        outcome = honlearn("train", *given, *out)
        assert outcome.code == 2, given
        assert message in outcome.err
        assert outcome.err.splitlines()[-1].startswith("honlearn: ")
    given = ("evaluate", net, labels, "--order", 2, "--model", "majority", "-o", tmp_path / "run")
    assert f"--order: {only}" in honlearn(*given).err
    lone = tmp_path / "lone.txt"
    lone.write_text("s0\ns1\n")
    assert "no path has two entities" in honlearn("train", lone, labels, "--auto", *out).err
    assert "no path has two entities" in honlearn("train", lone, labels, *out).err
    assert not (tmp_path / "m" / "config.json").exists()


def test_a_model_of_paths_is_that_of_the_network_grown_from_them(
    honlearn: Run, walks: Walks, tmp_path: Path
) -> None:
    net, columns = tmp_path / "net.hon", ("--sequence", "trip", "--entity", "place")
    assert honlearn("grow", walks.events, "-o", net, *columns).code == 0
    for source, more, name in ((net, (), "a"), (walks.events, columns, "b"), (walks.paths, (), "c")):
        outcome = honlearn("train", source, walks.labels, "-o", tmp_path / name, *more, *FAST, "--json")
        assert outcome.code == 0, outcome.err
        assert ("the network of order 2 was grown from them" in outcome.err) == (source != net)
        assert json.loads(outcome.out)["missing"] == 1
    tables = [honlearn("predict", tmp_path / name).out for name in "abc"]
    assert tables[0] == tables[1] == tables[2] != ""
    rule = ("--order", 3, "--tau", 1, "--min-support", 2)
    assert honlearn("train", walks.paths, walks.labels, "-o", tmp_path / "d", *rule, *FAST).code == 0
    by_rule = hl.grow(walks.paths, 3, 1, 2)
    assert hl.load_network(tmp_path / "d" / "network.hon") == by_rule
    assert honlearn("train", walks.paths, "-o", tmp_path / "e", "--task", "links", *FAST).code == 0


def test_nodes_are_evaluated_on_the_network_of_paths(honlearn: Run, walks: Walks, tmp_path: Path) -> None:
    net = tmp_path / "net.hon"
    assert honlearn("grow", walks.paths, "-o", net).code == 0
    models = ("--model", "majority", "--model", "gcn", "--set", "gcn:max_epochs=2")
    rows = []
    for source, run in ((net, "a"), (walks.paths, "b")):
        outcome = honlearn(
            "evaluate", source, walks.labels, "-o", tmp_path / run, *models, "--folds", 2, "--json"
        )
        assert outcome.code == 0, outcome.err
        rows.append([row["micro_f1_mean"] for row in json.loads(outcome.out)["rows"]])
    assert rows[0] == rows[1]
    auto = ("--model", "dge-bag", "--input", "all", "--folds", 2, "--dry-run")
    outcome = honlearn("evaluate", walks.paths, walks.labels, "-o", tmp_path / "c", *auto)
    assert outcome.code == 0, outcome.err
    both = honlearn("evaluate", walks.paths, walks.labels, *auto, "--paths", net, "-o", tmp_path / "c")
    assert both.code == 2
    assert "give one of the two" in both.err


def test_a_training_killed_in_the_race_goes_on_to_the_same_model(
    honlearn: Run, walks: Walks, chosen: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    words = ["train", walks.paths, walks.labels, "--auto", *FAST, "--set", "checkpoint_seconds=0"]
    command = [sys.executable, "-m", "honlearn", *words, "-o", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list(folder.glob(".checkpoint/*.choice")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert not (folder / "config.json").exists()
    assert len(list(folder.glob(".checkpoint/*.choice"))) == 1
    assert honlearn(*words, "-o", folder).code == 0
    assert not (folder / ".checkpoint").exists()
    for name in ("weights.safetensors", "network.hon"):
        assert (folder / name).read_bytes() == (chosen / name).read_bytes()


# --- evaluate and reproduce ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def net(walks: Walks, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("net") / "walks.hon"
    hl.grow(walks.paths).save(path)
    return str(path)


@pytest.fixture(scope="module")
def all_inputs(walks: Walks, net: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of evaluate on all inputs."""
    folder = tmp_path_factory.mktemp("inputs") / "run"
    with pytest.raises(SystemExit, match="0"):
        main([*on_all_inputs(walks, net), "-o", str(folder)])
    return folder


def on_all_inputs(walks: Walks, net: str) -> list[str]:
    words = ["evaluate", net, walks.labels, "--model", "dge-bag", "--model", "majority", "--folds", "2"]
    words += ["--input", "all", "--paths", walks.paths]
    return [*words, *(word for setting in LONGER[1:] for word in ("--set", f"dge-bag:{setting}"))]


def test_evaluate_on_all_inputs(
    honlearn: Run, walks: Walks, net: str, all_inputs: Path, tmp_path: Path
) -> None:
    words = on_all_inputs(walks, net)
    dry = honlearn(*words, "-o", tmp_path / "run", "--dry-run")
    assert dry.code == 0, dry.err
    assert "10 jobs" in dry.out
    outcome = honlearn(*words, "-o", all_inputs, "--json")
    assert outcome.code == 0, outcome.err
    assert "note: majority cannot choose a network and has no result on the input auto" in outcome.err
    facts = json.loads(outcome.out)
    rows = [(row["model"], row["input"], row["records"]) for row in facts["rows"]]
    assert rows == [
        *(("dge-bag", name, 2) for name in ("gk", "g1", "auto")),
        *(("majority", name, 2) for name in ("gk", "g1")),
    ]
    by_input = {row["input"]: row["micro_f1_mean"] for row in facts["rows"][:3]}
    assert by_input["auto"] > 0.9 > by_input["g1"]
    assert honlearn("report", all_inputs, "-o", tmp_path / "report.html").code == 0


def test_the_paths_may_be_a_folder(
    honlearn: Run, walks: Walks, net: str, all_inputs: Path, tmp_path: Path
) -> None:
    words = ["evaluate", net, walks.labels, "--model", "dge-bag", "--folds", 2, "--input", "auto", *LONGER]
    folder = Path(walks.paths).parent
    assert honlearn(*words, "--paths", folder, "-o", tmp_path / "run").code == 0
    digests = []
    for run in (all_inputs, tmp_path / "run"):
        lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
        chosen = [line for line in lines if line["configuration"]["input"] == "auto"]
        digests.append([line["digest"] for line in chosen])
        assert all(line["sizes"]["chosen"]["order"] > 1 for line in chosen)
    assert digests[0] == digests[1] != []


def test_errors_of_evaluate(honlearn: Run, walks: Walks, net: str, tmp_path: Path) -> None:
    words = ("evaluate", net, walks.labels, "-o", tmp_path / "run", "--model")
    cases = [
        (("dge-bag", "--input", "auto"), "none were given; name the paths with --paths"),
        (("dge-bag", "--paths", walks.paths), "by --input auto or --input all, not by 'gk'"),
        (("gcn", "--input", "auto", "--paths", walks.paths), "none of gcn can choose its network"),
        (("dge-bag", "--input", "auto", "--paths", "nowhere.txt"), "nowhere.txt: no such file"),
    ]
    for given, message in cases:
        outcome = honlearn(*words, *given)
        assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome.err
        assert message in outcome.err
    links = ("evaluate", net, "-o", tmp_path / "run", "--task", "links", "--model", "dge-bag")
    assert "must be one of 'gk', 'g1', 'both'" in honlearn(*links, "--input", "auto").err


def test_reproduce_with_rows_that_choose(honlearn: Run, walks: Walks, net: str, tmp_path: Path) -> None:
    words = ["reproduce", "table-2", "-o", tmp_path, "--folds", 2, "--protocol", "fixed", "--auto"]
    words += ["--model", "dge-bag", *FAST, "--tau", 1, "--min-support", 1]
    folder = str(Path(walks.paths).parent)
    outcome = honlearn(*words, "--data", f"walks={folder}")
    assert outcome.code == 0, outcome.err
    assert "| DGE-bag | chosen" in outcome.out
    without = honlearn(*words, "--data", f"{net}+{walks.labels}")
    assert "not measured: there are no paths to choose a network from" in without.out
    refused = honlearn("reproduce", "depth", "-o", tmp_path, "--auto")
    assert "--auto adds models to table-2, table-6, not to 'depth'" in refused.err


def test_no_number_of_a_candidate_is_cut_off_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    row = {
        "learner": "gatv2", "edge_power": 0.25, "order": 3, "tau": 12.5, "min_support": 10, "nodes": 12_345,
        "loss": 1.25, "gain": -0.144, "standard_error": 0.057, "members": 8, "share": 0.46, "chosen": True,
    }  # fmt: skip
    print_tried([row])
    printed = capsys.readouterr().out
    assert "…" not in printed
    for text in ("learner", "support", "members", "12,345", "-0.144 ± 0.057", "0.46"):
        assert text in printed
