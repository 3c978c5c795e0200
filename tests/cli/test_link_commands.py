"""train, predict and evaluate for links, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Files, Run

import honlearn as hl
from honlearn.cli import main

SMALL = ("--set", "n_learners=2", "widths=6,6", "max_epochs=3", "pair_width=4", "n_threads=1")


@pytest.fixture(scope="module")
def trained(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("links") / "model"
    with pytest.raises(SystemExit, match="0"):
        main(["train", files.net, "-o", str(folder), "--task", "links", *SMALL])
    return folder


def test_train_needs_no_labels_for_links(files: Files, trained: Path) -> None:
    model = hl.load_model(trained)
    assert isinstance(model, hl.DGELinkPredictor)
    assert model.network == hl.load_network(files.net)


def test_train_on_pairs_of_a_file(files: Files, honlearn: Run, tmp_path: Path) -> None:
    names = hl.load_network(files.net).vocabulary.names
    rows = [f"{names[i]},{names[i + 1]},{i % 2}" for i in range(16)]
    (tmp_path / "pairs.csv").write_text("from,to,Label\n" + "\n".join(rows) + "\n")
    done = honlearn(
        "train", files.net, tmp_path / "pairs.csv", "-o", tmp_path / "m", "--task", "links", *SMALL, "--json"
    )
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert (facts["linked_pairs"], facts["learners"]) == (8, 2)


def test_nodes_still_need_labels(files: Files, honlearn: Run, tmp_path: Path) -> None:
    for command in (("train",), ("evaluate", "--model", "dge-bag")):
        done = honlearn(*command, files.net, "-o", tmp_path / "m")
        assert done.code == 2
        assert "--task nodes needs LABELS after NET" in done.err


def test_predict_pairs(trained: Path, honlearn: Run, tmp_path: Path) -> None:
    model = hl.load_model(trained)
    a, b, c = model.network.vocabulary.names[:3]
    (tmp_path / "pairs.csv").write_text(f"source,target\n{a},{b}\n{c},{a}\n")
    done = honlearn("predict", trained, "--pairs", tmp_path / "pairs.csv", "--json")
    rows = json.loads(done.out)
    assert [(row["source"], row["target"]) for row in rows] == [(a, b), (c, a)]
    expected = model.predict_proba([(a, b), (c, a)])[:, 1]
    assert [row["probability"] for row in rows] == pytest.approx(expected, abs=1e-5)
    out = tmp_path / "scored.csv"
    done = honlearn("predict", trained, "--pairs", tmp_path / "pairs.csv", "-o", out)
    assert done.out.strip().endswith("2 rows")
    assert out.read_text().splitlines()[0] == "source,target,probability,disagreement"


def test_recommend(trained: Path, honlearn: Run) -> None:
    model = hl.load_model(trained)
    node = model.network.vocabulary.names[0]
    rows = json.loads(honlearn("predict", trained, "--node", node, "--top", 3, "--json").out)
    assert [row["neighbor"] for row in rows] == model.recommend(node, 3)["neighbor"].tolist()
    assert all(0 < row["q_value"] <= 1 for row in rows)
    done = honlearn("predict", trained, "--node", node, "--max-fdr", 0, "--json")
    assert json.loads(done.out) == []


def test_wrong_questions_are_one_line(trained: Path, model: Path, honlearn: Run, tmp_path: Path) -> None:
    names = hl.load_model(trained).network.vocabulary.names
    files = {
        "nobody.csv": (f"source,target\n{names[0]},nobody\n", ":2: no entity 'nobody' in the network"),
        "same.csv": (f"source,target\n{names[0]},{names[0]}\n", f":2: equal ends {names[0]!r}"),
        "bare.csv": (f"{names[0]},{names[1]}\n", ":1: no header"),
        "short.csv": ("source\nx\n", "expected a header with two columns"),
        "ragged.csv": (f"source,target\n{names[0]}\n", ":2: 1 fields, but the header has 2"),
        "none.csv": ("source,target\n", "no pair below the header"),
    }
    for name, (text, message) in files.items():
        (tmp_path / name).write_text(text)
        done = honlearn("predict", trained, "--pairs", tmp_path / name)
        assert done.code == 2
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    questions = {
        (trained,): "needs either --pairs FILE.csv",
        (trained, "--nodes", names[0]): "--nodes is for models of nodes",
        (trained, "--pairs", tmp_path / "none.csv", "--max-fdr", "0.1"): "--max-fdr ends a list",
        (trained, "--node", "nobody"): "no entity 'nobody'",
        (model, "--node", names[0]): "--pairs, --node and --max-fdr are for models of links",
    }
    for words, message in questions.items():
        done = honlearn("predict", *words)
        assert done.code == 2
        assert message in done.err


def test_evaluate_links_and_again(files: Files, honlearn: Run, tmp_path: Path) -> None:
    words = ("evaluate", files.net, "-o", tmp_path / "run", "--task", "links", "--model", "dge-bag")
    words = (*words, "--model", "dge-pool", "--repetitions", 2, "--test-share", 0.2, *SMALL)
    done = honlearn(*words)
    assert done.code == 0, done.err
    assert "4/4 dge-pool higher-order seed 0 repetition 1: AUPRC (degree-corrected) " in done.err
    assert "AUPRC" in done.out
    assert "linked pairs and as many others, drawn uniformly, and as many others, drawn by degree" in done.err
    assert "with --paths PATHS the network is grown without them" in done.err
    assert len(list((tmp_path / "run" / "test_pairs").iterdir())) == 2
    assert len((tmp_path / "run" / "records.jsonl").read_text().splitlines()) == 2 * 2
    again = json.loads(honlearn(*words, "--json").out)
    assert [row["records"] for row in again["rows"]] == [2, 2]
    assert len((tmp_path / "run" / "records.jsonl").read_text().splitlines()) == 2 * 2


def test_evaluate_without_and_with_the_leak(honlearn: Run, tmp_path: Path) -> None:
    data = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    lines = (" ".join(path) for path in data.paths)
    (tmp_path / "paths.txt").write_text("\n".join(lines) + "\n")
    assert honlearn("grow", tmp_path / "paths.txt", "-o", tmp_path / "net.hon", "--alpha", 1).code == 0
    words = (
        "evaluate",
        tmp_path / "net.hon",
        "-o",
        tmp_path / "run",
        "--task",
        "links",
        "--model",
        "dge-bag",
    )
    words = (*words, "--repetitions", 1, *SMALL, "--json")
    done = honlearn(*words, "--paths", tmp_path / "paths.txt", "--protocol", "both")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    hidden = "0.1 directed exclude both negatives no trace ranked from paths without tested visits | "
    assert found["protocol"].startswith(hidden)
    assert [row["protocol"] for row in found["rows"]] == ["strict", "paper"]
    assert "paper protocol minus strict, dge-bag on higher-order:" in found["optimism"][0]
    assert "so its scores are optimistic" in done.err
    again = honlearn("evaluate", tmp_path / "paths.txt", *words[2:], "--negatives", "degree", "--no-ranking")
    assert again.code == 0, again.err
    (row,) = json.loads(again.out)["rows"]  # grown from the paths, by evidence
    assert row["degree_auprc_mean"] is not None
    assert row["auprc_mean"] is row["filtered_mrr_mean"] is None
    done = honlearn(*words, "--rebuild", tmp_path / "paths.txt")
    assert done.code == 2
    assert f"is --paths {tmp_path / 'paths.txt'} now" in done.err
    assert honlearn("convert", tmp_path / "net.hon", tmp_path / "net.txt").code == 0
    done = honlearn(words[0], tmp_path / "net.txt", *words[2:], "--paths", tmp_path / "paths.txt")
    assert done.code == 2
    assert "has no record of how it was grown" in done.err


def test_evaluate_on_later_links(honlearn: Run, tmp_path: Path) -> None:
    rows = ["path,time,place"]
    for path in range(120):
        steps = [(path * 7 + k * (1 + path % 5)) % 17 for k in range(4)]
        rows += [f"{path},{10 * path + k},p{step}" for k, step in enumerate(steps)]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    words = (
        "evaluate",
        tmp_path / "log.csv",
        "-o",
        tmp_path / "run",
        "--task",
        "links",
        "--model",
        "popularity",
    )
    words = (*words, "--sequence", "path", "--entity", "place", "--order-by", "time", "--repetitions", 2)
    done = honlearn(*words, "--split-at", 60, "--json")
    assert done.code == 0, done.err
    assert "links that first appear after 60 between known entities" in done.err
    found = json.loads(done.out)
    assert found["protocol"].startswith("later than 60 directed exclude both negatives")
    assert 0 <= found["rows"][0]["filtered_mrr_mean"] <= 1
    assert "all paths began before it" in honlearn(*words, "--split-at", 99999).err
    assert honlearn("grow", tmp_path / "log.csv", *words[8:14], "-o", tmp_path / "net.hon").code == 0
    refused = honlearn("evaluate", tmp_path / "net.hon", *words[2:8], "--split-at", 60)
    assert "is a network; name its paths instead" in refused.err


def test_options_of_nodes_are_refused(files: Files, honlearn: Run, tmp_path: Path) -> None:
    words = (
        "evaluate",
        files.net,
        files.labels,
        "-o",
        tmp_path / "run",
        "--task",
        "links",
        "--model",
        "dge-bag",
    )
    done = honlearn(*words)
    assert done.code == 2
    assert "LABELS is for --task nodes" in done.err
    words = ("train", files.net, "-o", tmp_path / "model", "--task", "links", "--label-column", "kind")
    done = honlearn(*words)
    assert (done.code, "--label-column: for classes of nodes and paths" in done.err) == (2, True)
