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
from report_cases import EVIL, content_of, link_run, small_labels, small_network, write_run

from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.report.build import write_report
from honlearn.report.pack import embedded, pack, pack_shares
from honlearn.results import artefacts
from honlearn.results.records import FILE, Records
from honlearn.results.runs import read_run


def test_the_page_is_one_file_with_a_policy_of_its_own_scripts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ")
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(scripts) == 2
    for script in scripts:
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
    assert [model["name"] for model in study["models"]] == ["dge-bag · gk", "dge-bag · g1"]
    records = list(Records(run))
    values = [record["scores"]["micro_f1"] for record in records[:3]]
    found = study["models"][0]["scores"]["micro_f1"]
    assert found["mean"] == pytest.approx(np.mean(values), rel=1e-5)
    assert found["std"] == pytest.approx(np.std(values, ddof=1), rel=1e-5)
    assert study["missing"] == []
    assert EVIL in study["network"]["names"]
    assert set(study["diversity"]) == {"dge-bag · gk", "dge-bag · g1"}


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
        "dge-bag · gk (n_learners=4)",
        "dge-bag · gk (n_learners=2)",
    ]
    assert [model.name for model in studies[1].models] == ["dge-pool · gk"]
    content = content_of(write_report(run, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(content["others"]) == 1


def test_links_have_pairs_a_curve_and_new_links(tmp_path: Path) -> None:
    run = link_run(tmp_path / "run")
    study = content_of(write_report(run, tmp_path / "r.html").read_text(encoding="utf-8"))["study"]
    links = study["links"]["dge-bag · gk"]
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


def test_a_damaged_artefact_is_named(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    broken = next((copy / artefacts.FOLDER).glob("*.npz"))
    broken.write_bytes(broken.read_bytes()[:100])
    with pytest.raises(FormatError, match=rf"{broken.name}: damaged"):
        write_report(copy, tmp_path / "report.html")


def test_the_report_never_loads_torch(run: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from honlearn.report.build import write_report; write_report(*sys.argv[1:3]);"
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
