"""From a run folder to a page: what is in the file, what is missing, what is refused."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_cases import EVIL, content_of, link_run, next_run, small_labels, small_network, write_run
from sklearn.metrics import average_precision_score

from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.hon.edgelist import from_edges
from honlearn.reporting.build import write_report
from honlearn.reporting.link_answers import degree_average_precision
from honlearn.reporting.pack import embedded, pack, pack_shares
from honlearn.reporting.scores import model_scores
from honlearn.results import artefacts
from honlearn.results.records import FILE, Records
from honlearn.results.runs import read_run


def test_the_page_is_one_file_with_a_policy_of_its_own_scripts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ")
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    styles = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert len(scripts) == 1
    assert "unsafe" not in policy
    for script in scripts + styles:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(?!data:)', text)
    assert "connect-src" not in policy
    # Outside of the scripts and their data the evil name never stands unescaped.
    outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert "alert(1)" not in outside or html.escape(EVIL) in outside
    assert "<script>alert" not in text


def test_the_content_is_that_of_the_run(page: Path, run: Path) -> None:
    study = content_of(page.read_text(encoding="utf-8"))["study"]
    assert [model["name"] for model in study["models"]] == ["dge-bag · higher-order", "dge-bag · first-order"]
    records = list(Records(run))
    values = [record.score("micro_f1") for record in records[:3]]
    found = study["models"][0]["scores"]["micro_f1"]
    assert found["mean"] == pytest.approx(np.mean(values), rel=1e-5)
    assert found["std"] == pytest.approx(np.std(values, ddof=1), rel=1e-5)
    assert study["missing"] == []
    assert EVIL in study["network"]["names"]
    assert set(study["diversity"]) == {"dge-bag · higher-order", "dge-bag · first-order"}


def test_a_run_with_records_alone_still_has_a_page(tmp_path: Path) -> None:
    network = small_network()
    run = write_run(tmp_path / "run", network, small_labels(network), keep=False)
    assert [path.name for path in run.iterdir()] == [FILE]
    text = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    study = content_of(text)["study"]
    assert study["network"] is None
    assert study["predictions"] == {}
    assert len(study["models"]) == 2
    assert any("the network" in part for part in study["missing"])
    assert "did not keep everything" in text


def test_the_run_is_only_read(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    with (copy / FILE).open("ab") as file:
        file.write(b'{"digest": "cut')
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    write_report(copy, tmp_path / "report.html")
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_other_settings_are_another_row_and_other_data_another_study(tmp_path: Path) -> None:
    network = small_network()
    labels = small_labels(network)
    run = write_run(tmp_path / "run", network, labels, models=[("dge-bag", "gk")])
    write_run(run, network, labels, models=[("dge-bag", "gk")], learners=2)
    write_run(run, network, {**labels, "A": "third"}, models=[("dge-pool", "gk")])
    studies = {len(study.models): study for study in read_run(run).studies}
    assert [model.name for model in studies[2].models] == [
        "dge-bag · higher-order (n_learners=4)",
        "dge-bag · higher-order (n_learners=2)",
    ]
    assert [model.name for model in studies[1].models] == ["dge-pool · higher-order"]
    content = content_of(write_report(run, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(content["others"]) == 1


def test_a_model_is_compared_with_the_same_settings_on_the_first_order_network(tmp_path: Path) -> None:
    network = small_network()
    labels = small_labels(network)
    run = write_run(tmp_path / "run", network, labels)
    write_run(run, network, labels, learners=2)
    write_run(run, network, labels, models=[("dge-pool", "gk")])
    (study,) = read_run(run).studies
    against = {one["name"]: one["first_order"] for one in model_scores(study)}
    assert against == {
        "dge-bag · higher-order (n_learners=4)": "dge-bag · first-order (n_learners=4)",
        "dge-bag · first-order (n_learners=4)": None,
        "dge-bag · higher-order (n_learners=2)": "dge-bag · first-order (n_learners=2)",
        "dge-bag · first-order (n_learners=2)": None,
        "dge-pool · higher-order": None,
    }


def test_pairs_of_equal_degrees_are_worth_no_more_for_being_listed_first() -> None:
    ring = from_edges(list("ABCD"), list("BCDA"), [1] * 4)
    pairs, truth = [["A", "B"], ["B", "C"], ["A", "C"], ["B", "D"]], np.array([1, 1, 0, 0])
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        found = degree_average_precision(ring, [pairs[i] for i in order], truth[order])
        assert found == pytest.approx(0.5)  # every product is 1: half of the pairs are linked
    assert degree_average_precision(ring, [["A", "nobody"]], truth[:1]) is None
    draw = np.random.default_rng(2)
    names = [f"n{i}" for i in range(12)]
    ends = np.unique(draw.choice(names, (40, 2)), axis=0)
    network = from_edges(*ends.T.tolist(), [1] * len(ends))
    asked = draw.choice(list(network.vocabulary.names), (30, 2)).tolist()
    first, linked = network.first_order(), draw.integers(0, 2, 30)
    place = {name: code for code, name in enumerate(first.vocabulary.names)}
    products = [np.diff(first.indptr)[place[u]] * np.diff(first.in_indptr)[place[v]] for u, v in asked]
    assert degree_average_precision(network, asked, linked) == pytest.approx(
        average_precision_score(linked, products)
    )


def test_links_have_pairs_a_curve_and_new_links(tmp_path: Path) -> None:
    run = link_run(tmp_path / "run")
    study = content_of(write_report(run, tmp_path / "r.html").read_text(encoding="utf-8"))["study"]
    links = study["links"]["dge-bag · higher-order"]
    assert links["new"] == [["A", EVIL, 0.7, 0.5]]
    assert links["pairs"][0] == ["A", "hub one"]
    # The surest two are right, the third is not, the fourth is: precision 1, 1, 2/3, 3/4.
    assert [point[1] for point in links["curve"]][:4] == pytest.approx([1, 1, 2 / 3, 3 / 4], abs=1e-4)
    assert study["predictions"] == {}


@pytest.mark.parametrize(
    ("prepare", "error", "message"),
    [
        (lambda run: None, MissingFileError, "no such folder; name a run"),
        (lambda run: run.mkdir(), MissingFileError, r"no records\.jsonl in it"),
        (
            lambda run: ((run / "a").mkdir(parents=True), (run / "a" / FILE).touch()),
            MissingFileError,
            r"holds several runs; name one of .*run/a",
        ),
        (lambda run: (run.mkdir(), (run / FILE).write_text("")), InputError, "no record in it"),
        (lambda run: (run.mkdir(), (run / FILE).write_text("{}\n")), FormatError, r"jsonl:1: not a record"),
    ],
)
def test_what_is_no_run_is_refused(
    prepare: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    prepare(tmp_path / "run")
    with pytest.raises(error, match=message):
        write_report(tmp_path / "run", tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_page_needs_a_place(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name a file"):
        write_report(run, tmp_path)
    with pytest.raises(InputError, match="make it first"):
        write_report(run, tmp_path / "none" / "report.html")


def damaged(content: bytes, how: str) -> bytes:
    middle = len(content) // 2
    if how == "cut":
        return content[:100]
    return (
        content[: middle - 20]
        + bytes(byte ^ 0xFF for byte in content[middle - 20 : middle])
        + content[middle:]
    )


@pytest.mark.parametrize("how", ["cut", "flipped"])
@pytest.mark.parametrize("which", ["*.npz", "network-*.hon", "labels-*.json", "facts.json"])
def test_damaged_artefacts_are_left_out_and_named_on_the_page(
    run: Path, tmp_path: Path, which: str, how: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    files = sorted((copy / artefacts.FOLDER).glob(which))
    for file in files:
        file.write_bytes(damaged(file.read_bytes() + bytes(200), how))
    page = content_of(write_report(copy, tmp_path / "report.html").read_text("utf-8"))
    told = "\n".join(page["study"]["missing"])
    assert all(file.name in told for file in files)
    assert "remove it, and the report goes without it" in told


def test_a_fold_of_damaged_answers_is_left_out_alone(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    one = next((copy / artefacts.FOLDER).glob("*.npz"))
    one.write_bytes(damaged(one.read_bytes(), "flipped"))
    page = content_of(write_report(copy, tmp_path / "report.html").read_text("utf-8"))["study"]
    whole = content_of(write_report(run, tmp_path / "whole.html").read_text("utf-8"))["study"]
    assert page["predictions"].keys() == whole["predictions"].keys()
    assert sum(row["missing"] for row in page["predictions"].values()) == 1
    assert sum(one.name in note for note in page["missing"]) == 1


ABOUT = {"nodes": ["A", "B"], "truth": ["x", "y"], "classes": ["x", "y"], "history": []}
ARRAYS = {"proba": np.full((2, 2), 0.5, np.float32), "members": np.full((3, 2, 2), 0.5, np.float16)}


@pytest.mark.parametrize(
    ("about", "arrays", "told"),
    [
        ({"nodes": ["A"]}, {}, "'truth' must be a list of 1 texts"),
        ({"nodes": 7}, {}, "'nodes' must be a list of texts. Got 7"),
        ({"truth": ["x", "z"]}, {}, "'z' is no class"),
        ({"classes": ["x", "x", "y"]}, {}, "a class twice"),
        ({"history": [{"epoch": "one"}]}, {}, "'epoch' must be a number"),
        ({"history": {"epoch": 1}}, {}, "'history' must be a list of JSON objects"),
        ({}, {"proba": np.zeros((3, 2), np.float32)}, r"'proba' must be of kind f and shape \(2, 2\)"),
        ({}, {"proba": np.full((2, 2), -0.5)}, "'proba' is empty or out of range"),
        ({}, {"proba": np.full((2, 2), np.nan)}, "'proba' holds NaN"),
        ({}, {"proba": np.zeros((2, 2), int)}, "Got int64"),
        ({}, {"members": np.zeros((2, 2), np.float32)}, "'members' must be of kind f"),
        ({}, {"members": np.zeros((0, 2, 2), np.float32)}, "'members' is empty"),
        ({}, {"relatives": np.zeros((2, 2), int)}, r"'relatives' must be of kind i or u and shape \(3, 2\)"),
    ],
)
def test_answers_of_another_shape_are_told(
    tmp_path: Path, about: dict[str, Any], arrays: dict[str, Any], told: str
) -> None:
    artefacts.write_answers(tmp_path, "a1", artefacts.Answers({**ABOUT, **about}, {**ARRAYS, **arrays}))
    with pytest.raises(FormatError, match=told):
        artefacts.read_answers(tmp_path, "a1")


def test_a_digest_names_no_file_elsewhere(tmp_path: Path) -> None:
    artefacts.write_answers(tmp_path, "a1", artefacts.Answers(ABOUT, ARRAYS))
    assert artefacts.read_answers(tmp_path, "a1") is not None
    assert artefacts.read_answers(tmp_path, "../artefacts/a1") is None


def edited_record(run: Path, tmp_path: Path, change: dict[str, Any]) -> Path:
    folder = tmp_path / "edited"
    shutil.copytree(run, folder)
    lines = (folder / "records.jsonl").read_text("utf-8").splitlines()
    record = json.loads(lines[1])
    for path, value in change.items():
        place, *rest = path.split(".")
        owner = record if not rest else record[place]
        owner[rest[0] if rest else place] = value
    lines[1] = json.dumps(record)
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"configuration": []}, "'configuration' must be a JSON object"),
        ({"configuration.model": ["dge"]}, "'model' must be text"),
        ({"configuration.seed": "x"}, "'seed' must be a whole number of at least 0"),
        ({"configuration.task": "cats"}, "'task' must be one of nodes, links"),
        ({"configuration.data": {"network": {}}}, "'network' must be text"),
        ({"scores": {"micro_f1": "high"}}, "'micro_f1' must be a number"),
        ({"scores": {"micro_f1": 1e300}}, "'micro_f1' must be a number"),
        ({"sizes": {"train": 0, "test": 3}}, "'train' must be a whole number of at least 1"),
        ({"times": 3}, "'times' must be a JSON object"),
        ({"versions": {"honlearn": 1}}, "'honlearn' must be text"),
        ({"digest": "../x"}, "is not a digest"),
        ({"digest": 5}, "'digest' must be text"),
    ],
)
def test_a_record_of_other_types_is_told_with_its_line(
    run: Path, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    folder = edited_record(run, tmp_path, change)
    with pytest.raises(FormatError, match=rf"records\.jsonl:2: not a record of an evaluation; .*{told}"):
        write_report(folder, tmp_path / "report.html")


def test_a_record_nested_too_deep_is_told(run: Path, tmp_path: Path) -> None:
    folder = edited_record(run, tmp_path, {})
    lines = (folder / "records.jsonl").read_text("utf-8")
    deep = '{"digest": ' + "[" * 100_000 + "]" * 100_000 + "}\n"
    # As a last line it would count as cut short.
    (folder / "records.jsonl").write_text(deep + lines, "utf-8")
    with pytest.raises(FormatError, match=r"records\.jsonl:1: .*nested too deep"):
        write_report(folder, tmp_path / "report.html")


def test_a_damaged_summary_is_left_out_and_named(run: Path, tmp_path: Path) -> None:
    folder = edited_record(run, tmp_path, {})
    (folder / "summary.json").write_text('{"notes": [3]}')
    page = content_of(write_report(folder, tmp_path / "report.html").read_text("utf-8"))
    assert "'notes' must be a list of texts" in page["study"]["notes"][0]


def test_the_report_never_loads_torch(run: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from honlearn.reporting.build import write_report; write_report(*sys.argv[1:3]);"
        "assert not {'torch', 'sklearn'} & set(sys.modules)"
    )
    words = [sys.executable, "-c", program, str(run), str(tmp_path / "report.html")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_packing() -> None:
    assert pack([-1, 2], "i2")["d"] == base64.b64encode(np.array([-1, 2], "<i2").tobytes()).decode()
    assert pack_shares([0.0, 1.0, float("nan")], "u1")["q"] == 255
    text = embedded({"a": "</script><!--\u2028&"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--\u2028&"}


def test_a_run_on_next_steps_has_scores_by_position_and_order(next_page: Path) -> None:
    run = next_page.parent / "run"
    study = content_of(next_page.read_text(encoding="utf-8"))["study"]
    assert (study["task"], study["missing"], study["network"]) == ("next", [], None)
    models = {model["name"]: model for model in study["models"]}
    records = [
        r for r in Records(run) if r.configuration.name == "back-off" and r.configuration.input == "order 2"
    ]
    found = models["back-off · order 2"]["scores"]["bits"]
    assert found["mean"] == pytest.approx(np.mean([r.score("bits") for r in records]), rel=1e-5)
    point = next(
        row
        for row in study["next"]["positions"]
        if (row["name"], row["position"]) == ("back-off · order 2", "2")
    )
    values = [r.score("top1_after_2") for r in records]
    assert point["top1"]["mean"] == pytest.approx(np.mean(values), rel=1e-5)
    assert point["top1"]["std"] == pytest.approx(np.std(values, ddof=1), rel=1e-5, abs=1e-9)
    assert [(row["model"], row["order"]) for row in study["next"]["orders"]] == [
        *(("back-off", k) for k in (1, 2, 3)), *(("network", k) for k in (1, 2, 3)), ("popular", None)
    ]  # fmt: skip
    first, second, *_ = study["memory"]["rows"]
    assert second["saved"] == pytest.approx(first["bits"] - second["bits"], abs=1e-4)
    assert f"{second['saved']:.2f} ± " in study["memory"]["sentence"]


def test_memory_that_was_not_kept_or_is_damaged_is_named(tmp_path: Path) -> None:
    run = next_run(tmp_path / "run", keep=False)
    study = content_of(write_report(run, tmp_path / "page.html").read_text(encoding="utf-8"))["study"]
    assert (study["missing"], study["memory"]) == (["how much memory helps"], None)
    digest = read_run(run).studies[0].data.network
    (run / artefacts.FOLDER).mkdir()
    (run / artefacts.FOLDER / f"memory-{digest}.json").write_text(
        '{"division": "x", "seed": 0, "sentence": "y", "rows": [{"order": 2}]}'
    )
    study = content_of(write_report(run, tmp_path / "page.html").read_text(encoding="utf-8"))["study"]
    assert study["missing"][0] == "how much memory helps"
    assert "order" in study["missing"][1]
