"""From a table to predictions: planted memory is found, everything is written, a stop costs little."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import honlearn as hl
from honlearn.errors import HonlearnError, InputError, ParameterError
from honlearn.pipeline.figures import plot_orders
from honlearn.pipeline.learn import LearnOptions, Reports, _counted
from honlearn.pipeline.outcome import Learned
from honlearn.pipeline.validation import Spread, Validation, folds_for
from honlearn.pipeline.words import Memories, headline
from honlearn.results.learned import read_learned

SMALL = {"n_learners": 2, "widths": (8, 8), "max_epochs": 8}
CALM = Memories(0, 0, 12, 0.05)


def _events(paths_a_group: int = 150, seed: int = 0) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return clicks in two groups of pages that share a hub, and the group of each page but four."""
    random = np.random.default_rng(seed)
    rows = []
    for user in range(2 * paths_a_group):
        group = "ab"[user % 2]
        pages = [f"{group}{i}" for i in random.integers(0, (10, 3, 10, 10))]
        walk = [pages[0], pages[1], "hub", pages[2], pages[3]]
        rows += [(user, 10 * step, page) for step, page in enumerate(walk)]
    labels = {f"{group}{i}": group for group in "ab" for i in range(8)}
    table = pd.DataFrame(rows, columns=["user", "time", "page"])
    return table.sample(frac=1, random_state=seed), labels


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Learned, object]:
    table, labels = _events()
    out = tmp_path_factory.mktemp("learned") / "out"
    return hl.learn(table, labels, output=out, quick=True, folds=3, settings=SMALL), out


def test_everything_is_written_and_agrees(learned) -> None:
    found, out = learned
    assert {path.name for path in out.iterdir()} == {
        "predictions.csv",
        "model",
        "network.hon",
        "report.html",
        "run",
    }
    table = pd.read_csv(out / "predictions.csv")
    assert sorted(table["node"]) == sorted(found.network.vocabulary.names)
    fresh = table[table["known_label"].isna()]
    assert set(fresh["node"]) == {"a8", "a9", "b8", "b9", "hub"}
    assert fresh.index.tolist() == list(range(5)), "entities without a label come first"
    assert (table["in_training"] == table["known_label"].notna()).all()
    # The folder's model says the same as the table.
    model = hl.load_model(out / "model")
    assert model.predict(table["node"].tolist()).tolist() == table["label"].tolist()
    assert hl.load_network(out / "network.hon") == found.network
    assert found.headline in (out / "report.html").read_text()


def test_pages_without_a_label_are_predicted(learned) -> None:
    found, _ = learned
    table = found.predictions.set_index("node")
    assert table.loc[["a8", "a9"], "label"].tolist() == ["a", "a"]
    assert table.loc[["b8", "b9"], "label"].tolist() == ["b", "b"]
    assert all("times" in text or "labelled" in text for text in table.loc[["a8", "b9"], "reasons"])


def test_memory_at_the_hub_is_found(learned) -> None:
    found, _ = learned
    assert found.memories.contexts > 0
    assert found.memories.entities >= 1
    assert len(found.network.family("hub")) > 1


def test_the_run_can_be_drawn_again(learned, tmp_path) -> None:
    from honlearn.reporting.build import write_report

    found, out = learned
    facts = read_learned(out / "run")
    assert facts is not None
    assert len(facts.entities) == len(found.predictions)
    page = write_report(out, tmp_path / "again.html").read_text()
    assert found.headline in page


def test_the_page_tells_the_reasons_of_explain(learned) -> None:
    _, out = learned
    model, compared = hl.load_model(out / "model"), 0
    for entity in read_learned(out / "run").entities[:6]:
        found = {(one.kind, one.name): one for one in model.explain(entity.node).reasons}
        for one in entity.reasons["reasons"]:
            if " other " in one["name"]:
                continue
            same = found[one["kind"], one["name"]]
            assert one["without"] == pytest.approx(same.without, abs=1e-5)
            if same.value is not None:
                assert one["value"] == pytest.approx(same.value, abs=1e-5)
                compared += one["kind"] == "neighbor"
    assert compared > 10


def test_three_folds_have_no_p_value(learned) -> None:
    found, _ = learned
    assert len(found.validation.score.values) == 3
    assert found.validation.first_order is not None
    assert found.validation.p_value is None
    assert "p = " not in found.headline


def test_a_second_call_goes_on(learned) -> None:
    found, out = learned
    table, labels = _events()
    seen: list[bool] = []

    class Watcher:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def started(self, job):
            seen.append(True)

        def failed(self, job, error):
            raise error

        def completed(self, job, record, ran):
            assert not ran

    again = hl.learn(
        table,
        labels,
        output=out,
        quick=True,
        folds=3,
        settings=SMALL,
        reports=Reports(watch=lambda total: Watcher()),
    )
    assert not seen, "every fold was done before"
    pd.testing.assert_frame_equal(again.predictions, found.predictions)


def test_in_memory_and_in_a_notebook(learned) -> None:
    table, labels = _events()
    found = hl.learn(table, labels, quick=True, folds=3, settings=SMALL)
    assert found.headline == learned[0].headline
    assert found.html.startswith("<!doctype html>")
    html = found._repr_html_()
    assert "<table>" in html
    assert repr(found).startswith("Learned(")


@pytest.mark.parametrize(
    ("walks", "order", "told"),
    [
        (["a m b", "c m d", "a m d", "c m b"], 2, "order 2: no context is significant"),
        (["a m b", "c m d"], 2, "order 2: the longest significant context has 2 entities"),
        (["a m n b", "c m n d"], 3, "order 3: the longest significant context has 3 entities"),
    ],
)
def test_auto_looks_as_far_back_as_contexts_are_significant(walks, order, told) -> None:
    notes: list[str] = []
    asked = LearnOptions("auto", 0.1, True, 5, {}, 0, 1, None, "", None, None, Reports(note=notes.append))
    counts = _counted(hl.read_paths([walk.split() for walk in walks] * 20), asked)
    assert counts.order == order
    assert notes == [told]


def test_what_is_no_parameter_is_told_by_the_function_that_was_called(tmp_path) -> None:
    with pytest.raises(ParameterError, match="learn has no parameter 'fold'; did you mean 'folds'"):
        hl.learn("no file.csv", fold=3)
    with pytest.raises(ParameterError, match="grow has no parameter 'ordr'; did you mean 'order'"):
        hl.grow([["a", "b"]], ordr=2)
    with pytest.raises(ParameterError, match="evaluate has no parameter 'model'; did you mean 'models'"):
        hl.evaluate([["a", "b"]], {}, model="gcn")
    (tmp_path / "mine.txt").touch()
    for output in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(InputError, match=r"files of something else in it|a file of this name"):
            hl.learn([["a", "b"]], output=output)


def test_what_is_out_of_bounds_is_told_before_anything_is_read() -> None:
    with pytest.raises(ParameterError, match=r"'random_state' parameter of learn .* from 0 to 4294967295"):
        hl.learn("no file.csv", random_state=2**32)
    with pytest.raises(ParameterError, match=r"'order' parameter of learn .* at least 2"):
        hl.learn("no file.csv", order="all")


@pytest.mark.parametrize(
    ("sizes", "folds"), [((2, 3, 1, 1), 3), ((10, 10), 5), ((2, 2), 2), ((1, 1, 1, 1), 2)]
)
def test_there_are_no_more_folds_than_the_largest_class_has_nodes(sizes, folds) -> None:
    labels = [name for name, size in zip("abcd", sizes, strict=False) for _ in range(size)]
    assert folds_for(labels, 5) == folds


def test_the_default_chooses_learners_and_networks(tmp_path) -> None:
    table, labels = _events(60)
    notes: list[str] = []
    found = hl.learn(
        table,
        {**labels, "b7": "rare", "nowhere": "a"},
        output=tmp_path / "out",
        folds=2,
        settings={"n_learners": 4, "max_epochs": 1},
        reports=Reports(note=notes.append),
    )
    assert found.model.learner == "auto"
    assert set(found.model.selection_results_["order"]) >= {1, 2}
    assert found.validation.first_order is not None
    run = pd.read_csv(tmp_path / "out" / "run" / "summary.csv")
    assert set(run["input"]) == {"auto", "g1"}
    assert any(note.startswith("1 labelled node is not in the network: nowhere") for note in notes)
    few = "classes with fewer labelled nodes than there are folds"
    assert any(note.startswith(few) and "'rare' (1)" in note for note in notes)


def test_a_complete_network_has_no_links_to_expect(tmp_path) -> None:
    steps = ["a b c a", "a c b a", "b c a b c", "c b a c b"]
    for name in ("run", "model"):  # of an earlier call on other data
        (tmp_path / "out" / name).mkdir(parents=True)
    (tmp_path / "out" / "predictions.csv").touch()
    result = hl.learn([one.split() for one in steps] * 5, output=tmp_path / "out")
    assert result.model is None
    assert result.predictions.empty
    assert "bits per step" in result.headline
    assert "No links are predicted" in result.summary
    assert (tmp_path / "out" / "report.html").is_file()
    assert not (tmp_path / "out" / "model").exists()
    assert not (tmp_path / "out" / "predictions.csv").exists()


def test_without_labels(tmp_path) -> None:
    table, _ = _events(40)
    found = hl.learn(table, output=tmp_path / "out", folds=3, settings={"max_epochs": 3, "n_learners": 1})
    assert found.entities is None
    assert found.headline.startswith("Knowing ")
    assert {"memory.csv", "links.csv", "report.html", "model"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }
    links = pd.read_csv(tmp_path / "out" / "links.csv")
    assert links["probability"].is_monotonic_decreasing
    linked = set(
        zip(*found.network.first_order().to_pandas()[["source", "target"]].T.to_numpy(), strict=True)
    )
    assert not linked & set(zip(links["source"], links["target"], strict=True))


def test_labels_of_other_nodes(tmp_path) -> None:
    table, _ = _events(10)
    out = tmp_path / "out"
    with pytest.raises(InputError, match="none of the 2 labelled nodes is in the network"):
        hl.learn(table, {"q1": "x", "q2": "y"}, quick=True, output=out)
    with pytest.raises(InputError, match="at least 4 are needed"):
        hl.learn(table, {"a1": "x", "b2": "y"}, quick=True)
    with pytest.raises(HonlearnError, match="all labelled nodes are of the class 'x'"):
        hl.learn(table, dict.fromkeys(["a1", "a2", "b1", "b2"], "x"), quick=True, output=out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("first", "score", "p", "wanted"),
    [
        (0.5, 0.7, 0.004, "Where a path came from matters: it lifts the micro F1 from 0.50 to 0.70"),
        (
            0.5,
            0.7,
            0.2,
            "is not clear: the micro F1 goes from 0.50 to 0.70 (5 folds, p = 0.2)",
        ),
        (0.7, 0.5, 0.004, "Memory does not help to predict the labels: the micro F1 falls"),
        (
            0.5,
            0.7,
            None,
            "is not clear: the micro F1 goes from 0.50 to 0.70 (5 folds, too few for a test)",
        ),
        (0.5, 0.7, 1e-5, "p < 0.001"),
        (0.702, 0.698, 0.9, "could be shown: the micro F1 is 0.70 with and without it (5 folds, p = 0.9)"),
    ],
)
def test_the_headline_says_no_more_than_the_test(first, score, p, wanted) -> None:
    found = Validation(Spread(score, 0.02), Spread(first, 0.02), p, 0.3, None, 5)
    assert wanted in headline(found, Memories(3, 2, 12, 0.05))


def test_pictures_of_a_result(learned) -> None:
    found, _ = learned
    axes = found.plot().axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["first-order", "higher-order"]
    assert axes.get_title(loc="left").replace("\n", " ") == found.headline
    # One line for each fold, from its score without memory to the one with it.
    lines = [line.get_ydata().tolist() for line in axes.lines if len(line.get_ydata()) == 2]
    spreads = (found.validation.first_order.values, found.validation.score.values)
    assert lines == [list(pair) for pair in zip(*spreads, strict=True)]
    assert str(found).startswith(found.headline)
    orders = pd.DataFrame({"order": [1, 2], "bits": [2.0, 1.5], "bits_pm": [0.1, 0.1]})
    axes = plot_orders(orders, "Memory helps").axes[0]
    assert axes.lines[0].get_ydata().tolist() == [2.0, 1.5]


def test_the_headline_without_memory() -> None:
    found = Validation(Spread(0.6, 0.02), None, None, 0.3, None, 5)
    assert headline(found, CALM) == (
        "No effect of memory could be shown: no context is significant (of 12 tested)."
    )
