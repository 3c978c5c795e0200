"""Records as typed values: lines on the disk stay as they are, and wrong ones are told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from honlearn.errors import FormatError
from honlearn.results.calibration import coverage_interval
from honlearn.results.record import (
    ChosenComponent,
    ChosenNetwork,
    Configuration,
    DataDigests,
    Record,
    Sizes,
    Times,
)
from honlearn.results.records import digest_of
from honlearn.results.summary import compare, pairs, summarise

# Lines as version 0.1 wrote them: on nodes with a choice and a search, and on links.
NODES = (
    '{"digest": "9f0c", "configuration": {"task": "nodes", "model": "dge-bag", "input": "auto", "seed": 3, '
    '"folds": "stratified 5", "fold": 1, "parameters": {"n_learners": 2, "widths": [6, 6], "tau": null}, '
    '"data": {"network": "n", "labels": "l", "test": "t"}, "search": {"protocol": "nested", "trials": 2}}, '
    '"scores": {"micro_f1": 0.5, "log_loss": 1.25, "gain": null}, "sizes": {"train": 12, "test": 6, '
    '"classes": 2, "unseen_classes": 0, "parameters": 1234, "chosen": {"order": 2, "tau": 1.0, '
    '"min_support": 1, "nodes": 41}, "edge_power": 0.5, "kernel_share": 0.25}, "times": {"fit_seconds": 1.5, '
    '"fit_cpu_seconds": 2.5, "predict_seconds": 0.1, "predict_cpu_seconds": 0.2, "finished": '
    '"2026-01-01T00:00:00+00:00", "search_seconds": 3.0, "search_cpu_seconds": 4.0}, "versions": '
    '{"honlearn": "0.1.0"}, "search": {"point": null, "trials": 2}}'
)
LINKS = (
    '{"digest": "f0c1", "configuration": {"task": "links", "model": "adamic-adar", "input": "gk", "seed": 0, '
    '"folds": "0.1 directed exclude", "fold": 0, "parameters": {}, "data": {"network": "n", "test": "t"}}, '
    '"scores": {"auprc": 0.75, "mrr": 0}, "sizes": {"train": 300, "test": 38, "positives": 178, '
    '"tested": 19, "hidden_edges": 40, "parameters": null}, "times": {"fit_seconds": 0.0, '
    '"fit_cpu_seconds": 0.0, "predict_seconds": 0.0, "predict_cpu_seconds": 0.0, "finished": '
    '"2026-01-01T00:00:00+00:00"}, "versions": {"honlearn": "0.1.0"}}'
)
# A bag of learners of several kinds.
MIXED = NODES.replace(
    '"kernel_share": 0.25}',
    '"kernel_share": 0.25, "components": [{"learner": "gat", "edge_power": 0.5, "order": 2, "members": 3, '
    '"share": 0.5}, {"learner": "sage", "edge_power": 0.0, "order": 1, "members": 1, "share": 0.25}]}',
)
SHORT: dict[str, Any] = {
    "digest": "a1",
    "configuration": {"model": "gcn", "input": "gk", "seed": 0, "fold": 2},
    "scores": {},
}


@pytest.mark.parametrize("line", [NODES, LINKS, MIXED])
def test_a_line_is_written_again_as_it_was(line: str) -> None:
    record = Record.parse(line, "records.jsonl:1")
    assert json.dumps(record.to_json()) == line
    record.check_whole("records.jsonl")


def test_the_parts_of_a_line() -> None:
    record = Record.parse(NODES, "it")
    asked, sizes = record.configuration, record.sizes
    assert (asked.model, asked.input, asked.seed, asked.fold) == ("dge-bag", "auto", 3, 1)
    assert asked.data == DataDigests("n", "l", "t")
    assert asked.search == {"protocol": "nested", "trials": 2}
    assert sizes.chosen == ChosenNetwork(2, 1.0, 1, 41)
    assert (sizes.counts, sizes.kernel_share) == ({"classes": 2, "unseen_classes": 0}, 0.25)
    assert record.times.cpu_seconds == pytest.approx(2.5 + 0.2 + 4.0)
    assert (record.test_part, record.test_share) == ((3, 1, "t"), 0.5)
    first, second = Record.parse(MIXED, "it").sizes.components
    assert first == ChosenComponent("gat", 0.5, 2, 3, 0.5)
    assert (second.order, second.members) == (1, 1)
    assert Record.parse(LINKS, "it").sizes.counts == {"positives": 178, "tested": 19, "hidden_edges": 40}


def test_the_digest_of_a_configuration_is_that_of_its_line() -> None:
    for line in (NODES, LINKS):
        values = json.loads(line)["configuration"]
        assert digest_of(Record.parse(line, "it").configuration.to_json()) == digest_of(values)


def test_parts_that_a_line_lacks_are_unknown() -> None:
    record = Record.from_json(SHORT, "it")
    assert (record.configuration.task, record.configuration.folds) == ("nodes", None)
    assert (record.sizes, record.times, record.versions) == (Sizes(), Times(), {})
    assert record.times.cpu_seconds == 0
    for ask in (lambda: record.score("micro_f1"), lambda: record.test_part, lambda: record.test_share):
        with pytest.raises(FormatError, match=r"a record has no '(micro_f1|test)'; remove its line"):
            ask()
    with pytest.raises(FormatError, match="here: 'configuration': 'folds' is not there; remove the line"):
        record.check_whole("here")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sizes": {"chosen": {}}}, "'chosen': 'order' is not there"),
        ({"sizes": {"chosen": {"order": 2, "tau": "small"}}}, "'tau' must be a number"),
        ({"sizes": {"kernel_share": "half"}}, "'kernel_share' must be a number"),
        ({"sizes": {"classes": [2]}}, "'classes' must be a number"),
        ({"times": {"search_seconds": {}}}, "'search_seconds' must be a number"),
        ({"times": {"finished": 3}}, "'finished' must be text"),
        ({"search": 3}, "'search' must be a JSON object"),
        ({"configuration": {**SHORT["configuration"], "fold": -1}}, "'fold' must be a whole number"),
    ],
)
def test_parts_of_other_types_are_told(change: dict[str, Any], told: str) -> None:
    with pytest.raises(FormatError, match=f"records.jsonl:3: .*{told}"):
        Record.from_json({**SHORT, **change}, "records.jsonl:3")


def test_records_are_paired_by_what_was_tested() -> None:
    def record(fold: int, test: str | None, score: float = 0.5) -> Record:
        asked = Configuration("gcn", "gk", 0, fold, data=DataDigests(test=test))
        return Record(f"{fold}{test}", asked, {"micro_f1": score}, Sizes(train=80, test=20))

    ours, theirs = [record(0, "a"), record(1, "b"), record(2, "c")], [record(1, "b"), record(2, "other")]
    assert pairs(ours, theirs) == [(ours[1], theirs[0])]
    # Two test parts that nobody knows need not be the same.
    with pytest.raises(FormatError, match="a record has no 'test'"):
        compare([record(0, None)], [record(0, None)])
    nameless = replace(ours[0], scores={})
    with pytest.raises(FormatError, match="a record has no 'micro_f1'"):
        compare([nameless], ours)


def test_links_of_both_kinds_of_negatives_are_tested_as_those_of_one() -> None:
    """A score is of the tested links and one kind of unlinked pairs; the other kind makes no test larger."""
    one = Record.parse(LINKS, "it")
    both = replace(one, sizes=replace(one.sizes, test=57))  # 19 links, 19 uniform and 19 by degree
    assert one.test_share == both.test_share == 38 / 300


def test_links_that_come_later_are_the_same_in_each_repetition_and_have_no_p_value() -> None:
    def of(division: str, gain: float) -> list[Record]:
        asked = Configuration("gcn", "gk", 0, 0, "links", division, data=DataDigests("n", test="t"))
        return [
            Record("a", replace(asked, fold=fold), {"auprc": 0.5 + gain + 0.01 * gain * fold}, Sizes(90, 10))
            for fold in range(5)
        ]

    assert compare(of("0.1 directed", 0.1), of("0.1 directed", 0.0), "auprc") is not None
    assert compare(of("later than 5 directed", 0.1), of("later than 5 directed", 0.0), "auprc") is None


def test_another_seed_tests_the_same_nodes_and_makes_no_interval_of_coverage_narrower() -> None:
    def records(seeds: int) -> list[Record]:
        return [
            Record(
                f"{seed}-{fold}", Configuration("gcn", "gk", seed, fold), {"coverage_90": 0.9}, Sizes(80, 20)
            )
            for seed in range(seeds)
            for fold in range(5)
        ]

    (one,), (three,) = (summarise(records(seeds), ("coverage_90",)) for seeds in (1, 3))
    low, high = coverage_interval(90, 100)
    for found in (one, three):
        assert (found["coverage_90_low"], found["coverage_90_high"]) == pytest.approx((low, high))
