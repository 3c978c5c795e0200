"""Tables in three languages, figures with their numbers, comparisons that never invent a value."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import honlearn as hl
from honlearn.experiments.comparison import Measurements, comparison_table
from honlearn.experiments.measure import Measured, TableRow
from honlearn.experiments.paper_tables import budget_table
from honlearn.experiments.plots import Panel, Plot, Series, _draw_panel, drawn
from honlearn.experiments.sources import Source
from honlearn.experiments.tables import Table, as_printed, in_latex, p_text, signed
from honlearn.results.record import Configuration, DataDigests, Record, Sizes, Times


def record(model: str, fold: int, score: float) -> Record:
    asked = Configuration(model, "gk", seed=0, fold=fold, data=DataDigests(test=f"{fold}"))
    sizes, times = Sizes(train=80, test=20, parameters=1000), Times(fit_cpu_seconds=2.0)
    return Record(f"{model}-{fold}", asked, {"micro_f1": score, "log_loss": 1.0}, sizes, times)


def measured(model: str, *scores: float) -> Measured:
    return Measured([record(model, fold, score) for fold, score in enumerate(scores)])


@pytest.fixture(scope="module")
def wiki() -> Source:
    """A small network under the name of a published one."""
    hon = hl.grow([["A", "C", "D"], ["B", "C", "E"]] * 5)
    return Source("wiki", hon, ("A", "B"), ("x", "y"), "wiki")


def test_ours_beside_the_published(wiki: Source) -> None:
    rows = [TableRow("gcn", "g1"), TableRow("gat", "g1"), TableRow("dge-bag", "gk")]
    found = {
        rows[0]: measured("gcn", 0.60, 0.62, 0.61, 0.60, 0.62),
        rows[1]: Measured(reason="no model gat for nodes"),
        rows[2]: measured("dge-bag", 0.68, 0.69, 0.67, 0.70, 0.68),
    }
    table = comparison_table("table-2", "Title", "nodes", rows, [Measurements(wiki, found)], ["a note"])
    assert list(table.columns[:6]) == [
        "model",
        "input",
        "Wiki, ours",
        "Wiki, published",
        "difference",
        "p (t, Wilcoxon)",
    ]
    assert list(table.columns[6:]) == [f"{name}, published" for name in ("Air", "T2D", "Mag", "Mag+", "Ship")]
    assert table.rows[0][:5] == ["GCN", "first-order", "0.610 ± 0.010", "0.643 ± 0.01", "−0.033 below"]
    assert table.rows[1][2:7] == ["–", "0.639 ± 0.02", "–", "–", "0.804 ± 0.03"]
    assert table.rows[2][2:6] == ["0.684 ± 0.011", "0.681 ± 0.00", "+0.003 within", "reference"]
    assert table.rows[0][5].endswith(", 0.062")
    facts = list(csv.DictReader(io.StringIO(table.csv())))
    [gat] = [fact for fact in facts if fact["model"] == "gat" and fact["data"] == "wiki"]
    assert (gat["ours"], gat["published"], gat["not_measured"]) == ("", "0.639", "no model gat for nodes")
    mag = [fact for fact in facts if fact["data"] == "mag"]
    assert len(mag) == 17
    assert all(fact["ours"] == "" for fact in mag)
    assert any("not measured: no model gat" in note for note in table.notes)
    assert any("published values alone" in note for note in table.notes)


def test_the_optimism_is_told(wiki: Source) -> None:
    row = TableRow("dge-bag", "gk")
    found = Measured(measured("dge-bag", 0.6, 0.7).records, "", 0.0123, 8)
    table = comparison_table("table-2", "T", "nodes", [row], [Measurements(wiki, {row: found})], [])
    assert any("up to 8 tried" in note and "0.012 lower on average" in note for note in table.notes)


def test_the_optimism_is_told_under_budgets_too(wiki: Source) -> None:
    row = TableRow("dge-bag", "gk", 2, "10k")
    found = Measured(measured("dge-bag", 0.6, 0.7).records, "", 0.0123, 8)
    table = budget_table("table-5", [row], [Measurements(wiki, {row: found})], [])
    assert any("up to 8 tried" in note and "0.012 lower on average" in note for note in table.notes)


@pytest.mark.parametrize(
    ("values", "shown", "hidden"), [([0.02, 0.9], "0.05", "×"), ([0.5, 100.0], "10", "20")]
)
def test_numbers_of_a_logarithmic_axis(values: list[float], shown: str, hidden: str) -> None:
    panel = Panel("one", "x", "y", [Series("", values, [1.0, 2.0])], log_x=True)
    svg = drawn(Plot("fig", "Title", [panel], []), "svg").decode()
    assert f">{shown}</text>" in svg
    assert f">{hidden}</text>" not in svg
    assert "mathdefault" not in svg


def test_no_two_of_many_lines_look_alike() -> None:
    figure = Figure()
    axis = figure.subplots()
    _draw_panel(axis, Panel("t", "x", "y", [Series(str(i), [1, 2], [i, i]) for i in range(16)]))
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axis.get_lines()}
    assert len(looks) == 16


def test_three_languages(tmp_path: Path) -> None:
    table = Table("t", "A & B", ["model", "in", "x"], [["DGE-bag*", "G1", "0.5 ± 0.1"]], ["50 % of_it"])
    assert r"| DGE-bag\* | G1  | 0.5 ± 0.1 |" in table.markdown()
    latex = table.latex()
    assert r"\caption{A \& B}" in latex
    assert r"DGE-bag* & G1 & 0.5 $\pm$ 0.1 \\" in latex
    assert r"50 \% of\_it" in latex
    assert latex.count(r"\begin{") == latex.count(r"\end{")
    assert table.csv() == "model,in,x\nDGE-bag*,G1,0.5 ± 0.1\n"
    files = table.write(tmp_path / "out")
    assert [file.name for file in files] == ["t.md", "t.tex", "t.csv"]
    assert files[0].read_text("utf-8") == table.markdown() + "\n"
    assert (signed(-0.0001), signed(0.02), as_printed(0.5, None)) == ("0.000", "+0.020", "0.500")
    assert (p_text(None), p_text(0.0001), p_text(0.0421)) == ("–", "< 0.001", "0.042")
    assert in_latex("a_b~") == r"a\_b\textasciitilde{}"


def test_a_figure_and_its_numbers(tmp_path: Path) -> None:
    line = Series("one", [1, 2, 3], [3.0, 2.0, 1.0], [0.1, None, 0.2])
    band = Series("", [1.0, 3.0], [1.0, 1.0], low=[0.5, 0.5], high=[1.5, 1.5])
    points = Series("", [1.0, 2.0], [1.0, 2.0], is_line=False)
    panels = [
        Panel("left", "x", "y", [line], whole_x=True),
        Panel("right", "x", "y", [points, band], log_x=True),
        Panel("below", "x", "y", [line]),
    ]
    plot = Plot(
        "fig", "Title", panels, [{"x": 1, "y": 2}], ["note"], across=2, more={"lines": [{"slope": 1}]}
    )
    files = plot.write(tmp_path)
    assert [file.name for file in files] == ["fig.svg", "fig.png", "fig.csv", "fig-lines.csv"]
    svg = files[0].read_text("utf-8")
    for word in ("Title", "left", "right", "below", "one"):
        assert f">{word}<" in svg
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert files[2].read_text() == "x,y\n1,2\n"
    assert drawn(plot, "svg") == files[0].read_bytes()
