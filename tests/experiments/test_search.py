"""Spaces and searches: the paper's grid, budgets, and searches that go on as if nothing had happened."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from honlearn.errors import FormatError, InputError, MissingFileError, ParameterError
from honlearn.experiments.registry import find_model, model_names
from honlearn.experiments.search import Budget, search
from honlearn.experiments.selection import best_on_test, points
from honlearn.experiments.spaces import PAPER, Space, own_space, paper_space, read_spaces
from honlearn.results.record import Configuration, Record
from honlearn.results.records import FILE

SPACE = Space("own", {"a": (1, 2, 3, 4), "b": ((1,), (1, 2)), "c": (0.1, 0.2)})


def rating(point: Mapping[str, Any] | None) -> float:
    return 0.5 if point is None else point["a"] - len(point["b"]) + point["c"]


def test_the_grid_is_that_of_table_4() -> None:
    sizes = {
        name: paper_space(find_model(name, "links" if name == "seal" else "nodes")).size for name in PAPER
    }
    # Layers times hidden units, times what each has of its own; batch sizes for those trained in batches.
    assert sizes == {
        "gcn": 15,
        "gcnii": 30,
        "gat": 45,
        "gatv2": 45,
        "graphsage": 15 * 6 * 4 * 3 * 2,
        "gin": 15 * 6 * 4 * 3,
        "graphsaint": 15 * 5 * 3,
        "pathgcn": 15 * 4 * 4,
        "ho-gnn": 15,
        "seal": 45,
    }
    assert paper_space(find_model("dge-bag")).size == 15 * 3 * 4 * 3 * 3
    for task in ("nodes", "links"):
        assert not any(paper_space(find_model(name, task)).left_out for name in model_names(task))
    assert paper_space(find_model("honem")).size == 0


def test_a_point_becomes_keywords() -> None:
    bag, gat = find_model("dge-bag"), find_model("gat")
    point = {"layers": 3, "width": 256, "samples": 64, "samples_2": 2, "learners": 8, "batch_size": 32}
    assert paper_space(bag).settings(bag, point) == {
        "widths": (256, 256, 256),
        "fan_outs": (64, 2, 1),
        "n_learners": 8,
        "batch_size": 32,
        "learning_rate": 0.01,
        "input_dropout": 0.4,
        "hidden_dropout": 0.4,
    }
    assert paper_space(gat).settings(gat, {"layers": 1, "width": 512, "heads": 4}) == {
        "widths": (512,),
        "heads": 4,
        "input_dropout": 0.4,
        "hidden_dropout": 0.4,
        "learning_rate": 0.0005,
    }


def test_what_is_searched_can_stand_beside_what_is_given() -> None:
    bag, gat = find_model("dge-bag"), find_model("gat")
    point = {"samples": 64, "samples_2": 2}
    for depth, fan_outs in ((1, (64,)), (2, (64, 2)), (3, (64, 2, 1))):
        assert paper_space(bag, {"widths": (8,) * depth}).settings(bag, point)["fan_outs"] == fan_outs
    assert paper_space(bag, {"fan_outs": (64, 1, 1)}).dimensions["layers"] == (3,)
    assert paper_space(bag, {"fan_outs": 8}).dimensions["layers"] == (1,)
    for name in ("widths", "width"):  # the parameter of the learner, and its other name
        narrow = paper_space(gat, {name: 280})
        assert narrow.dimensions["heads"] == (4, 8)
        assert "width" not in narrow.dimensions
        assert "heads" not in paper_space(gat, {name: 6}).dimensions
    assert "layers" in paper_space(gat, {"width": 280}).dimensions
    for name in ("heads", "n_heads"):
        assert paper_space(gat, {name: 3}).dimensions.keys() == {"layers"}
    assert not {"input_dropout", "hidden_dropout"} & set(paper_space(gat, {"dropout": 0.1}).fixed)


def test_what_is_given_is_not_searched() -> None:
    bag = find_model("dge-bag")
    space = paper_space(bag, {"widths": (8,), "n_learners": 2, "learning_rate": 0.1})
    assert set(space.dimensions) == {"samples", "samples_2", "batch_size"}
    assert "learning_rate" not in space.fixed
    own = own_space(bag, {"widths": [[4], [4, 4]], "n_learners": [1, 2]}, {"n_learners": 2})
    assert own.dimensions == {"widths": ((4,), (4, 4))}
    assert own.settings(bag, {"widths": (4,)}) == {"widths": (4,)}
    # Short names of the command line are words of a space too.
    assert own_space(bag, {"width": [3]}).dimensions == {"width": (3,)}
    with pytest.raises(FormatError, match="names 'widhts'; did you mean 'widths'"):
        own_space(bag, {"widhts": [3]})
    with pytest.raises(FormatError, match=r"choices of 'widths' must be a list .* Got 3"):
        own_space(bag, {"widths": 3})


def test_a_file_of_choices(tmp_path: Path) -> None:
    file = tmp_path / "space.json"
    file.write_text('{"gcn": {"width": [8, 16]}}')
    assert read_spaces(file) == {"gcn": {"width": [8, 16]}}
    file.write_text("[1]")
    with pytest.raises(FormatError, match=r"not a space; expected \{model"):
        read_spaces(file)
    with pytest.raises(MissingFileError, match="no such file"):
        read_spaces(tmp_path / "none.json")


def test_the_first_trial_is_the_default_and_the_best_wins(tmp_path: Path) -> None:
    found = search(rating, SPACE, Budget(None, 12), 0, tmp_path)
    assert found.trials[0].point is None
    assert found.score == max(trial.score for trial in found.trials if trial.score is not None)
    assert found.described()["trials"] == 12
    assert found.described()["default_score"] == 0.5
    worse = search(lambda point: 1.0 if point is None else 0.0, SPACE, Budget(None, 3), 0, tmp_path / "b")
    assert worse.point is None


def test_a_stopped_search_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    whole = search(rating, SPACE, Budget(None, 14), 3, tmp_path / "whole")
    search(rating, SPACE, Budget(None, 5), 3, tmp_path / "parts")
    calls = []

    def counted(point: Mapping[str, Any] | None) -> float:
        calls.append(point)
        return rating(point)

    parts = search(counted, SPACE, Budget(None, 14), 3, tmp_path / "parts")
    assert [(t.point, t.score) for t in parts.trials] == [(t.point, t.score) for t in whole.trials]
    assert len(calls) == 14 - 5
    other = search(rating, SPACE, Budget(None, 14), 4, tmp_path / "other")
    assert [trial.point for trial in other.trials] != [trial.point for trial in whole.trials]


def test_a_small_space_is_exhausted_and_nothing_tried_twice(tmp_path: Path) -> None:
    calls = []

    def counted(point: Mapping[str, Any] | None) -> float:
        calls.append(None if point is None else point["a"])
        return 0.0

    search(counted, Space("own", {"a": (1, 2, 3)}), Budget(None, 100), 0, tmp_path)
    assert calls[0] is None
    assert sorted(calls[1:]) == [1, 2, 3]
    nothing = search(counted, Space("paper", {}), Budget(None, 100), 0, tmp_path / "none")
    assert len(nothing.trials) == 1


def test_budgets_and_failures(tmp_path: Path) -> None:
    once = search(rating, SPACE, Budget(0.0), 0, tmp_path / "zero")
    assert len(once.trials) == 1

    def picky(point: Mapping[str, Any] | None) -> float:
        if point is None or point["a"] > 2:
            raise ParameterError("too large")
        return float(point["a"])

    found = search(picky, SPACE, Budget(None, 14), 0, tmp_path / "picky")
    assert found.score in (1.0, 2.0)
    assert found.described()["failed"] >= 1

    def hopeless(point: Mapping[str, Any] | None) -> float:
        raise InputError("no luck")

    with pytest.raises(InputError, match="every trial of the search failed, the first with: no luck"):
        search(hopeless, SPACE, Budget(None, 3), 0, tmp_path / "hopeless")
    with pytest.raises(InputError, match="a search needs a budget"):
        Budget(None, None)
    with pytest.raises(
        ParameterError, match="'trials' parameter of search must be a whole number, at least 1"
    ):
        Budget(1.0, 0)


def test_a_trial_may_not_take_more_than_is_left(tmp_path: Path) -> None:
    def endless(point: Mapping[str, Any] | None) -> float:
        while point is not None:
            time.sleep(0.01)
        return 0.5

    begun = time.monotonic()
    found = search(endless, SPACE, Budget(0.02), 0, tmp_path)
    assert time.monotonic() - begun < 20
    assert found.point is None
    assert len(found.trials) == 2
    assert found.trials[1].error == "it took longer than what was left of the budget"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_paper_protocol_and_its_optimism() -> None:
    def records(*scores: float) -> list[Record]:
        asked = Configuration("gcn", "gk", seed=0, fold=0)
        return [Record("a", asked, {"micro_f1": score}) for score in scores]

    settings = [records(0.9, 0.1, 0.5), records(0.6, 0.6, 0.6), records(0.1, 0.9, 0.5)]
    chosen = best_on_test(settings, "micro_f1")
    assert (chosen.records, chosen.best) == (settings[1], pytest.approx(0.6))
    # Without part 0 the third is best (0.7), without part 1 the first (0.7), without part 2 the second (0.6).
    assert chosen.honest == pytest.approx((0.1 + 0.1 + 0.6) / 3)
    assert chosen.optimism == pytest.approx(0.6 - 0.8 / 3)
    assert best_on_test([records(0.5)], "micro_f1").optimism is None


def test_the_grid_in_an_order_of_its_own() -> None:
    every = list(points(SPACE, 0))
    assert every[0] is None
    assert len({str(point) for point in every}) == SPACE.size + 1
    assert list(points(SPACE, 0)) == every
    assert list(points(SPACE, 1)) != every


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"digest": "7"}, "not the trials of a search, one after another"),
        ({"digest": "x"}, "not the trials of a search, one after another"),
        ({"point": [1]}, "'point' must be a JSON object"),
        ({"point": {"a": 1}}, "is not a point of the space"),
        ({"point": {"a": 9, "b": [1], "c": 0.1}}, "is not a point of the space"),
        ({"score": "good"}, "'score' must be a number"),
        ({"seconds": -1}, "'seconds' must be a number of at least 0"),
        ({"repeats": 0}, "'repeats' must be true or false"),
        ({"error": None}, "'error' must be text"),
    ],
)
def test_trials_of_other_types_are_told(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    search(rating, SPACE, Budget(None, 3), 0, tmp_path)
    path = tmp_path / FILE
    lines = path.read_text("utf-8").splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    path.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(FormatError, match=rf"records\.jsonl: .*{told}.*; remove the file to search anew"):
        search(rating, SPACE, Budget(None, 4), 0, tmp_path)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"gcn": [1]}', '{"gcn": {"width": NaN}}', "\ud800".encode("utf-8", "surrogatepass")],
)
def test_files_of_choices_that_are_none_are_told(tmp_path: Path, text: str | bytes) -> None:
    (tmp_path / "space.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError, match=r"space\.json: not a space; expected"):
        read_spaces(tmp_path / "space.json")
