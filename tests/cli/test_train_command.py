from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from command_line import QUICK, Files, Run
from safetensors.numpy import save as as_safetensors

import honlearn as hl
from honlearn.executors import Executor, open_executor
from honlearn.experiments.registry import find_model, model_names
from honlearn.labels import read_labels
from honlearn.tasks.nested import nested


def test_the_model_is_that_of_the_library(files: Files, model: Path) -> None:
    hon = hl.load_network(files.net)
    nodes, labels = read_labels(files.labels)
    known = [(node, label) for node, label in zip(nodes, labels, strict=True) if node in hon.vocabulary]
    quick = {"n_learners": 2, "widths": (6, 6), "max_epochs": 3, "patience": 2, "n_threads": 1}
    clf = hl.DGEClassifier(hon, **nested(hl.DGEClassifier, quick), random_state=0).fit(
        *zip(*known, strict=True)
    )
    loaded = hl.load_model(model)
    assert np.array_equal(loaded.predict_proba(nodes[:5]), clf.predict_proba(nodes[:5]))
    assert sorted(path.name for path in model.iterdir()) == [
        "README.md",
        "config.json",
        "network.hon",
        "training.json",
        "weights.safetensors",
    ]


def quick_for(name: str) -> list[str]:
    """Return the quick settings that this model has, as words of the command line."""
    known = find_model(name).keywords()
    # Heads share the widths, and 6 is no multiple of 8 heads.
    words = [*QUICK[1:], *(["heads=2"] if name in ("gat", "gatv2") else [])]
    return ["--set", *(word for word in words if word.partition("=")[0] in known)]


@pytest.mark.parametrize("name", [*model_names("nodes"), "dge-bag-shared"])
def test_every_model_trains_and_predicts(honlearn: Run, files: Files, tmp_path: Path, name: str) -> None:
    trained = honlearn("train", *files, "-o", tmp_path / "m", "--model", name, *quick_for(name), "--json")
    assert trained.code == 0, trained.err
    facts = json.loads(trained.out)
    assert facts["name"] == name.replace("-shared", "*")
    assert (facts["nodes"], facts["missing"], facts["classes"]) == (18, 1, 2)
    assert facts["learners"] == (2 if name.startswith("dge") else 1)
    assert facts["seconds"] > 0 or name == "majority"  # counts in no time
    predicted = honlearn("predict", tmp_path / "m", "--json")
    assert {row["label"] for row in json.loads(predicted.out)} <= {"c0", "c1"}


def test_a_table_and_a_note_about_labels_of_no_node(honlearn: Run, files: Files, tmp_path: Path) -> None:
    outcome = honlearn("train", *files, "-o", tmp_path / "m", *QUICK, "--seed", 3)
    assert outcome.code == 0
    assert "1 labelled node is not in the network and left out: elsewhere" in outcome.err
    for word in ("dge-bag", "nodes", "classes", "learners", "seconds", "validation score", "18"):
        assert word in outcome.out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("train", "honlearn: interrupted; nothing was saved yet, so the same command starts anew\n"),
        ("grow", "honlearn: interrupted\n"),
    ],
)
def test_an_interrupt_is_one_line(
    command: str, said: str, honlearn: Run, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hl.DGEClassifier, "fit", interrupted)
    monkeypatch.setattr("honlearn.paths.source.find_files", interrupted)
    paths = Path(files.net).with_name("x.txt")
    paths.write_text("A B\n")
    words = [*files, "-o", tmp_path / "m"] if command == "train" else [paths, "-o", tmp_path / "x.hon"]
    outcome = honlearn(command, *words)
    assert outcome.code == 130
    assert outcome.err.endswith(said)
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_refuses_is_one_line(honlearn: Run, files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = honlearn("train", *files, "-o", tmp_path / "file" / "m", *QUICK)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith(f"honlearn: {tmp_path / 'file'}")
    assert "Errno" not in outcome.err


def test_the_seed_decides(honlearn: Run, files: Files, tmp_path: Path, model: Path) -> None:
    weights = []
    for seed in (0, 1):
        assert honlearn("train", *files, "-o", tmp_path / f"{seed}", *QUICK, "--seed", seed).code == 0
        weights.append((tmp_path / f"{seed}" / "weights.safetensors").read_bytes())
    assert weights[0] == (model / "weights.safetensors").read_bytes() != weights[1]


def test_what_is_in_the_folder_decides_whether_it_is_written(
    honlearn: Run, files: Files, tmp_path: Path
) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    refused = honlearn("train", *files, "-o", folder, *QUICK)
    assert refused.code == 2
    assert "there are files of something else in it (thesis.tex)" in refused.err
    assert honlearn("train", *files, "-o", folder, *QUICK, "--force").code == 0
    assert (folder / "thesis.tex").read_text() == "years of work"
    assert hl.load_model(folder).classes_.tolist() == ["c0", "c1"]
    own = tmp_path / "own"
    for _ in range(2):  # a model is replaced without a question
        assert honlearn("train", *files, "-o", own, *QUICK).code == 0
    (own / "config.json").write_text('{"format": "another"}')
    assert "files of something else in it (config.json)" in honlearn("train", *files, "-o", own, *QUICK).err
    (own / "config.json").unlink()  # what a kill in the middle of saving leaves
    assert honlearn("train", *files, "-o", own, *QUICK).code == 0
    (tmp_path / "file").write_text("")
    assert "there is a file of this name" in honlearn("train", *files, "-o", tmp_path / "file", *QUICK).err


@pytest.mark.parametrize(
    ("words", "learner"),
    [(("learner=gat", "learner.heads=2"), "gat"), (("learner=sage,gcn",), "sage+gcn"), ((), "sage")],
)
def test_the_learner_is_set_and_named(
    honlearn: Run, files: Files, tmp_path: Path, words: tuple[str, ...], learner: str
) -> None:
    command = ("train", *files, "-o", tmp_path / "m", *QUICK, *words)
    shown = honlearn(*command)
    assert shown.code == 0, shown.err
    title = "dge-bag →" if learner == "sage" else f"dge-bag ({learner}) →"
    assert shown.out.startswith(title)
    assert "…" not in shown.out
    assert json.loads(honlearn(*command, "--json").out)["learner"] == learner
    loaded = hl.load_model(tmp_path / "m")
    assert len(loaded.predict_proba(loaded.network_.vocabulary.names[:2])) == 2


def test_a_model_and_a_checkpoint_of_an_older_version(
    honlearn: Run, files: Files, model: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(model, old)
    config = json.loads((old / "config.json").read_text())
    config["version"] = 1
    rest = {key: value for key, value in config.items() if key != "digest"}
    config["digest"] = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    (old / "config.json").write_text(json.dumps(config))
    outcome = honlearn("predict", old)
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        f"honlearn: {old}: model format 1, this honlearn reads 3; an older honlearn wrote it: train the "
        "model again, or use the version that wrote it"
    ]
    # A training may replace it.
    assert honlearn("train", *files, "-o", old, *QUICK).code == 0
    assert honlearn("predict", old).code == 0
    checkpoint = tmp_path / "old.safetensors"
    checkpoint.write_bytes(as_safetensors({"w": np.zeros(2)}, {"format": "honlearn-checkpoint-1"}))
    clf = hl.DGEClassifier(
        hl.load_network(files.net), learner="sage", training=hl.Training(checkpoint=checkpoint)
    )
    nodes, labels = (part[:18] for part in read_labels(files.labels))
    with pytest.raises(hl.errors.FormatError, match="not a checkpoint of this version of hon") as error:
        clf.fit(nodes, labels)
    assert "\n" not in str(error.value)


def test_errors_are_one_line(honlearn: Run, files: Files, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("node,label\nx,a\ny,b\n")
    cases = {
        ("--model", "dge-bog"): "no model 'dge-bog'; there are dge-concat",
        ("--task", "edges"): "--task must be one of nodes, links, paths. Got 'edges' instead",
        ("--set", "n_lerners=3"): "did you mean 'n_learners'?",
        ("--set", "learner=gta"): "did you mean 'gat'?",
        ("--set", "learner=gat", "fan_outs=8,2"): "GAT has no 'fan_outs'; there are ",
        ("--set", "learner=gat", "heads=3"): "must be multiples of 'heads' (3)",
        ("--set", "learner=sage,gcn", "n_learners=1"): "n_learners=1 is less than the 2 kinds of learner",
        ("--set", "structure.tau=3"): "tau cannot be chosen for a network that is grown already",
        ("--set", "n_learners=0"): "must be a whole number, at least 1. Got 0",
        ("--label-column", "colour"): "no column 'colour'",
        ("--executor", "rai"): "must be a number of local processes",
        ("--executor", "2", "--model", "gcn"): "gcn of nodes is trained in one process",
        ("--set", "executor=2"): "executor is not set here; use --executor",
    }
    for words, message in cases.items():
        outcome = honlearn("train", *files, "-o", tmp_path / "m", *words)
        assert outcome.code == 2
        assert outcome.err.splitlines()[-1].startswith("honlearn: ")
        assert message in outcome.err
    outcome = honlearn("train", files.net, foreign, "-o", tmp_path / "m")
    assert "none of the 2 labelled nodes is in the network: they are called 'x', 'y'" in outcome.err
    assert not (tmp_path / "m" / "config.json").exists()


def test_a_killed_training_goes_on_to_the_same_model(honlearn: Run, files: Files, tmp_path: Path) -> None:
    settings = ("--set", "n_learners=2", "widths=6,6", "max_epochs=60", "patience=60", "n_threads=1")
    words = ["train", *files, *settings, "--set", "checkpoint_seconds=0"]
    assert honlearn(*words, "-o", tmp_path / "whole").code == 0
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "honlearn", *words, "-o", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(folder.glob(".checkpoint/*.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert not (folder / "config.json").exists()
    [checkpoint] = folder.glob(".checkpoint/*.safetensors")
    assert honlearn(*words, "-o", folder).code == 0
    assert not (folder / ".checkpoint").exists()
    for name in ("weights.safetensors", "network.hon"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    # The same words look for the same checkpoint, other words for another.
    hidden = tmp_path / "damaged" / ".checkpoint"
    hidden.mkdir(parents=True)
    (hidden / checkpoint.name).write_text("x")
    assert "damaged (" in honlearn(*words, "-o", tmp_path / "damaged").err
    # What is not its own is no reason to stop, but one to say why it starts anew.
    anew = honlearn(*words, "--seed", 1, "-o", tmp_path / "damaged")
    assert anew.code == 0
    assert anew.err.count("is a checkpoint of other settings, data or another version of honlearn") == 1


def test_learners_train_on_an_executor_to_the_same_model(
    honlearn: Run, files: Files, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    @contextmanager
    def opened(spec: object) -> Iterator[Executor]:
        asked.append(spec)
        with ThreadPoolExecutor(2) as threads, open_executor(threads) as pool:
            yield pool

    monkeypatch.setattr("honlearn.ensemble.groups.open_executor", opened)
    done = honlearn("train", *files, "-o", str(tmp_path / "m"), *QUICK, "--executor", "2")
    assert (done.code, asked) == (0, [2])
    weights = [(folder / "weights.safetensors").read_bytes() for folder in (model, tmp_path / "m")]
    assert weights[0] == weights[1]
    links = ("train", files.net, "--task", "links", *QUICK)
    assert honlearn(*links, "-o", tmp_path / "one").code == 0
    assert honlearn(*links, "-o", tmp_path / "two", "--executor", "2").code == 0
    assert asked == [2, 2]
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("one", "two")]
    assert weights[0] == weights[1]
