"""The commands next and score, and info of paths."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import Run

import honlearn as hl
from honlearn.cli.predict import chosen_nodes

LINES = "A C D\nB C E\n" * 40


@pytest.fixture
def paths(tmp_path: Path) -> Path:
    (tmp_path / "paths.txt").write_text(LINES)
    return tmp_path / "paths.txt"


def test_next_of_paths_and_of_their_network(honlearn: Run, paths: Path) -> None:
    shown = honlearn("next", paths, "--after", "A C", "--top", 1)
    assert shown.code == 0
    assert "A C" in shown.out
    assert "D" in shown.out
    assert "E" not in shown.out
    rows = json.loads(honlearn("next", paths, "--after", "A C", "--after", "B C", "--top", 1, "--json").out)
    assert [row["step"] for row in rows] == ["D", "E"]
    assert all(row["probability"] > 0.9 for row in rows)
    hl.grow(paths).save(paths.with_name("net.hon"))
    hl.grow(paths).save(paths.with_name("net.txt"))
    for name in ("net.hon", "net.txt"):
        rows = json.loads(honlearn("next", paths.with_name(name), "--after", "A C", "--json").out)
        assert rows[0]["step"] == "D"


def test_next_of_many_histories_in_a_file(honlearn: Run, paths: Path, tmp_path: Path) -> None:
    (tmp_path / "histories.txt").write_text("A C\n\nB C E\n")
    out = tmp_path / "next.csv"
    assert (
        honlearn("next", paths, "--after-file", tmp_path / "histories.txt", "--top", 2, "-o", out).code == 0
    )
    table = pd.read_csv(out)
    assert table["history"].tolist() == [0, 0, 1, 1, 2, 2]
    assert table["step"].tolist()[::2] == ["D", "A", "<end>"] or table["step"].tolist()[::2] == [
        "D",
        "B",
        "<end>",
    ]


def test_white_space_within_a_name_separates_nothing(honlearn: Run, tmp_path: Path) -> None:
    page = "Les\u00a0Halles\u2028\x85"
    paths, histories = tmp_path / "paths.txt", tmp_path / "histories.txt"
    paths.write_bytes(f"A {page} D\nB {page} E\n".encode() * 40)
    histories.write_bytes(f"A {page}\r\nB\t{page}\n".encode())
    asked = ("--after-file", histories, "--top", 1, "--json")
    assert [row["step"] for row in json.loads(honlearn("next", paths, *asked).out)] == ["D", "E"]
    rows = json.loads(honlearn("next", paths, "--after", f'A "{page}"', "--json").out)
    assert rows[0]["step"] == "D"
    names = chosen_nodes([str(histories)], hl.grow(paths).vocabulary)
    assert names == [f"A {page}", f"B\t{page}"]


def test_next_with_reader_options(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("who,what\n" + "".join(f"{i},x y\n{i},z\n" for i in range(30)))
    words = ["next", tmp_path / "events.csv", "--sequence", "who", "--entity", "what", "--json", "--top", 1]
    rows = json.loads(honlearn(*words, "--delimiter", "comma", "--after", "x y").out)
    assert rows[0]["step"] == "z"


def test_a_history_at_the_end_of_a_longer_path(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("A B\nC A D\nE A D\n" * 20)
    begun = json.loads(honlearn("next", tmp_path / "p.txt", "--after", "A", "--json", "--top", 1).out)
    later = json.loads(
        honlearn("next", tmp_path / "p.txt", "--after", "A", "--anywhere", "--json", "--top", 1).out
    )
    assert (begun[0]["step"], later[0]["step"]) == ("B", "D")


def test_sets_of_next_steps(honlearn: Run, tmp_path: Path) -> None:
    paths = tmp_path / "p.txt"
    paths.write_text("A C D\nB C E\n" * 200)
    words = ["next", paths, "--after", "A C", "--after", "B C E", "--order", 2]
    rows = json.loads(honlearn(*words, "--alpha", "0.1", "--json").out)
    assert [(row["set"], row["set_size"], row["unseen"]) for row in rows] == [
        (["D"], 1, False), (["<end>"], 1, False),
    ]  # fmt: skip
    wide = honlearn(*words, "--alpha", "0.01", "--top", 2)
    assert wide.code == 0
    assert "and 4 more" in wide.out
    assert "99% sets" in wide.out
    out = tmp_path / "sets.csv"
    assert honlearn(*words, "--alpha", "0.01", "-o", out).code == 0
    table = pd.read_csv(out)
    assert table["set"].str.split("|").map(sorted).tolist() == [["<end>", *"ABCDE"]] * 2
    hl.grow(paths).save(tmp_path / "net.hon")
    for asked, message in (
        ([*words, "--alpha", "1.5"], "'alpha' parameter of next must be a number at least 0 and"),
        ([*words, "--alpha", "0.1", "--anywhere"], "leave out --anywhere"),
        (["next", tmp_path / "net.hon", "--after", "A", "--alpha", "0.1"], "a network; --alpha needs PATHS"),
    ):
        told = honlearn(*asked)
        assert told.code == 2
        assert message in told.err
        assert told.err.count("\n") == 1


def test_what_next_refuses(honlearn: Run, paths: Path) -> None:
    for words, message in (
        (["next", paths], "what came before? Give --after"),
        (["next", paths, "--after", "A Q"], "1 of 2 names is not among the 5 entities: 'Q'"),
        (["next", paths, "--after", "A", "-o", "x.png"], ".csv, .parquet or .json"),
        (["next", paths, "--after", "A", "-o", paths], "would replace"),
        (["next", paths, "--after", "", "--anywhere"], "has at least one entity"),
    ):
        told = honlearn(*words)
        assert told.code == 2
        assert message in told.err
        assert told.err.count("\n") == 1


def test_score_finds_the_planted_path(honlearn: Run, paths: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("A C D\n" * 30 + "A C E\n")
    out = tmp_path / "scores.csv"
    words = ["score", paths, tmp_path / "new.txt", "-o", out, "--walks", 5000]
    told = honlearn(*words)
    assert told.code == 0
    assert "31 paths" in told.out
    assert "1 anomalous at a false discovery rate of 0.05" in told.out
    assert "hardest step 3: C → E" in told.out
    table = pd.read_csv(out)
    assert table["q_value"].le(0.05).tolist() == [False] * 30 + [True]
    facts = json.loads(honlearn(*words, "--json").out)
    assert facts["anomalous"] == 1
    assert facts["walks"] == 5000
    printed = honlearn("score", paths, tmp_path / "new.txt", "--walks", 100)
    assert printed.out.splitlines()[0].startswith("path,entities,bits,")


def test_score_by_a_network(honlearn: Run, paths: Path, tmp_path: Path) -> None:
    hl.grow(paths).save(tmp_path / "net.hon")
    told = honlearn("score", tmp_path / "net.hon", paths, "-o", tmp_path / "s.csv", "--walks", 100)
    assert told.code == 0
    assert "80 paths" in told.out


def test_score_never_replaces_what_it_reads(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("path\nA B\n")
    told = honlearn(
        "score", tmp_path / "p.csv", tmp_path / "p.csv", "--path-column", "path", "-o", tmp_path / "p.csv"
    )
    assert told.code == 2
    assert "would replace" in told.err


def test_info_of_paths(honlearn: Run, paths: Path) -> None:
    told = honlearn("info", paths, "--order", 2)
    assert told.code == 0
    assert "How much memory helps" in told.out
    assert "Knowing one step back saves" in told.out
    facts = json.loads(honlearn("info", paths, "--order", 2, "--json").out)
    assert facts["sizes"]["paths"] == 80
    assert facts["memory"][0]["saved"] is None
    assert facts["memory"][1]["saved"] > 0.1


def test_info_of_one_path(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("A B C D\n")
    told = honlearn("info", tmp_path / "one.txt")
    assert told.code == 2
    assert "one path only" in told.err


def test_evaluate_next_steps_and_go_on(honlearn: Run, paths: Path, tmp_path: Path) -> None:
    words = ["evaluate", paths, "-o", tmp_path / "run", "--task", "next", "--folds", 2, "--order", 2]
    told = honlearn(*words, "--model", "back-off", "--model", "popular")
    assert told.code == 0
    assert "top-5" in told.out
    rows = pd.read_csv(tmp_path / "run" / "summary.csv")
    assert rows["input"].tolist() == ["order 1", "order 2", "paths"]
    assert rows["bits_mean"][1] < rows["bits_mean"][0] < rows["bits_mean"][2]
    again = honlearn(*words, "--model", "back-off", "--json")
    assert len(json.loads(again.out)["rows"]) == 2
    assert len((tmp_path / "run" / "records.jsonl").read_text().splitlines()) == 6
    refused = honlearn(*words[:-4], "--folds", "published", "--model", "popular")
    assert refused.code == 2
    assert "--folds must be a whole number" in refused.err


def test_evaluate_next_reads_tables_and_divides_them_by_time(honlearn: Run, tmp_path: Path) -> None:
    rows = [
        f"p{i},{what},2024-{1 + i % 4:02d}-{day:02d}\n"
        for i in range(40)
        for day, what in enumerate("ACD", 1)
    ]
    (tmp_path / "events.csv").write_text("who,what,when\n" + "".join(reversed(rows)))
    words = ["evaluate", tmp_path / "events.csv", "-o", tmp_path / "run", "--task", "next", "--order", 1]
    words += ["--sequence", "who", "--entity", "what", "--order-by", "when", "--model", "back-off"]
    told = honlearn(*words, "--split-at", "2024-04-01", "--json")
    assert told.code == 0
    assert json.loads(told.out)["folds"] == "at 2024-04-01"
    (record,) = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    assert (record["sizes"]["train"], record["sizes"]["test"]) == (30, 10)
    assert record["scores"]["top1"] == 1.0
    refusals = {
        ("--split-at", "2024-04-01", "--folds", "3"): "give one of the two",
        ("--split-at", "2026-01-01"): "none to test on; give another time",
        ("--seeds", "2"): "--seeds is for --task nodes or links",
    }
    for more, message in refusals.items():
        refused = honlearn(*words, *more)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert message in refused.err
    plain = honlearn(*words[:4], "--task", "nodes", "--split-at", "3", "--model", "dge-bag")
    assert (plain.code, "--split-at is for --task next or links" in plain.err) == (2, True)
    bare = honlearn(*words[:4], "--task", "nodes", "--sequence", "who", "--model", "dge-bag")
    assert (bare.code, "--task nodes needs LABELS" in bare.err) == (2, True)
    folder = honlearn("evaluate", tmp_path, *words[2:6], "--model", "popular", "--split-at", "3")
    assert (folder.code, "data set's folder" in folder.err) == (2, True)


def test_names_with_blanks(honlearn: Run, tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_text(
        "case,ward\n" + "".join(f"{i},Surgery\n{i},Ward A\n{i},Home\n" for i in range(30))
    )
    words = ["next", tmp_path / "stays.csv", "--sequence", "case", "--entity", "ward", "--json", "--top", 1]
    rows = json.loads(honlearn(*words, "--after", 'Surgery "Ward A"').out)
    assert rows[0]["step"] == "Home"
