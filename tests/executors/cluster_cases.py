"""What is asked of a real cluster: counting, a bag, an evaluation and a search, compared with one process."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import contract
import numpy as np
import tasks_for_tests as tasks

import honlearn as hl
from honlearn.executors import open_executor
from honlearn.experiments.evaluate import ModelSpec, NodeData, evaluate, plan
from honlearn.experiments.folds import Folds
from honlearn.experiments.registry import find_model
from honlearn.experiments.search import Budget, SearchResult, search
from honlearn.experiments.spaces import Space
from honlearn.hon.build import GramCounts, count_grams
from honlearn.learners import SAGE
from honlearn.paths import partitions
from honlearn.results.record import Times
from honlearn.results.records import Records

QUICK = {"n_learners": 2, "widths": (6,), "max_epochs": 3, "patience": 2}
SPACE = Space("own", {"width": (8, 16, 32), "depth": (1, 2, 3), "rate": (0.1, 0.2)})


def check_tasks(spec: Any, folder: Path) -> None:
    """Values, errors and deaths of workers."""
    with open_executor(spec) as pool:
        assert pool.n_workers == 2
        contract.check_values(pool)
        contract.check_errors(pool)
        contract.check_deaths(pool, folder)


def bytes_of(counts: GramCounts) -> list[bytes]:
    arrays = [array for level in counts.levels for array in vars(level).values()]
    return [array.tobytes() for array in (*arrays, counts.vocabulary.data, counts.vocabulary.offsets)]


def check_counting(spec: Any, folder: Path, monkeypatch: Any) -> None:
    """Counts of a file in parts, also while workers die; of paths in memory; without keys."""
    monkeypatch.setattr(partitions, "LEAST_BYTES", 1 << 12)
    rng = np.random.default_rng(0)
    paths = [[f"n{i}" for i in rng.integers(0, 60, 6)] for _ in range(3000)]
    file = folder / "paths.txt"
    file.write_text("".join(" ".join(path) + "\n" for path in paths))
    with open_executor(spec) as pool:
        for order in (2, 11):
            local = bytes_of(count_grams(paths, order))
            assert bytes_of(count_grams(str(file), order, executor=pool)) == local
            assert bytes_of(count_grams(paths, order, executor=pool)) == local
        monkeypatch.setattr("honlearn.hon.partitioned.divide", partial(tasks.dying_divide, str(folder / "d")))
        assert bytes_of(count_grams(str(file), executor=pool)) == bytes_of(count_grams(paths))
    assert (folder / "d").exists()


def check_growing(spec: Any, folder: Path, monkeypatch: Any) -> None:
    """Networks finished on the workers, by both rules, also while a worker dies."""
    monkeypatch.setattr(partitions, "LEAST_BYTES", 1 << 12)
    monkeypatch.setattr("honlearn.hon.grow_on.LEAST_FINISHED_APART", 0)
    monkeypatch.setattr("honlearn.hon.grow_on.LEAST_TESTED_APART", 0)
    starts = np.random.default_rng(0).integers(0, 40, (4000, 2)).tolist()
    paths = [[f"n{i}", f"n{j}", f"n{(i + j) % 40}", f"n{(i * j) % 9}"] for i, j in starts]
    file = folder / "paths.txt"
    file.write_text("".join(" ".join(path) + "\n" for path in paths))
    with open_executor(spec) as pool:
        for order, rule in ((2, {}), (3, {"tau": 1.0, "min_support": 2}), (11, {"alpha": 0.5})):
            local = hl.grow(paths, order, **rule)
            assert local.n_conditional
            assert file_of(hl.grow(str(file), order, executor=pool, **rule), folder) == file_of(local, folder)
        dying = partial(tasks.dying_range_network, str(folder / "r"))
        monkeypatch.setattr("honlearn.hon.family_network.range_network", dying)
        assert hl.grow(str(file), executor=pool) == hl.grow(paths)
    assert (folder / "r").exists()


def file_of(network: hl.HigherOrderNetwork, folder: Path) -> bytes:
    network.save(folder / "network.hon")
    return (folder / "network.hon").read_bytes()


def check_evaluation(spec: Any, folder: Path) -> None:
    """Records of folds, times apart."""
    made = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    data = NodeData.of(hl.grow(made.paths), list(made.labels), list(made.labels.values()))
    jobs = plan(data, [ModelSpec(find_model("dge-bag"), QUICK)], Folds("stratified", 2), [0])
    list(evaluate(data, jobs, folder / "one"))
    list(evaluate(data, jobs, folder / "two", executor=spec, keep_predictions=True))
    assert records(folder / "one") == records(folder / "two")


def records(folder: Path) -> list[str]:
    kept = [replace(record, times=Times()).to_json() for record in Records(folder)]
    return sorted(json.dumps(record, sort_keys=True) for record in kept)


def check_bag(spec: Any) -> None:
    """The learners of a bag, in groups on the workers."""
    made = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    one, two = (fitted_bag(made, None), fitted_bag(made, spec))
    names = list(made.labels)
    assert one.member_proba(names).tobytes() == two.member_proba(names).tobytes()
    assert one.history_.equals(two.history_)
    assert one.temperature_ == two.temperature_


def fitted_bag(made: Any, executor: Any) -> hl.DGEClassifier:
    kind, training = SAGE(widths=(6,)), hl.Training(max_epochs=3, patience=2)
    given = {"n_learners": 3, "training": training, "n_threads": 1, "random_state": 0}
    model = hl.DGEClassifier(hl.grow(made.paths), kind, **given, executor=executor)  # type: ignore[arg-type]
    return model.fit(list(made.labels), list(made.labels.values()))


def check_links(spec: Any) -> None:
    """The learners of a bag of links, which grows by rounds."""
    made = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    same_links(fitted_links(made, None), fitted_links(made, spec))


def same_links(one: hl.DGELinkPredictor, two: hl.DGELinkPredictor) -> None:
    """Compare weights, histories and held-back predictions, byte for byte."""
    weights = [model.ensemble_.state_dict() for model in (one, two)]
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        assert tensor.numpy().tobytes() == weights[1][name].numpy().tobytes()
    assert one.history_.equals(two.history_)
    assert one.unlinked_scores_.tobytes() == two.unlinked_scores_.tobytes()


def fitted_links(made: Any, executor: Any, learner: Any = None, **given: Any) -> hl.DGELinkPredictor:
    given = {"n_learners": 4, "training": hl.Training(max_epochs=3, patience=2), "paths": made.paths} | given
    kind = SAGE(widths=(6,)) if learner is None else learner
    return hl.DGELinkPredictor(
        hl.grow(made.paths), kind, **given, n_threads=1, random_state=0, executor=executor
    ).fit()


def check_search(spec: Any, folder: Path) -> None:
    """Trials of a search."""
    budget = Budget(None, 6)
    one = search(tasks.parabola, SPACE, budget, 3, folder / "one")
    assert told(search(tasks.parabola, SPACE, budget, 3, folder / "two", executor=spec)) == told(one)


def told(found: SearchResult) -> list[tuple[Any, ...]]:
    return [(trial.point, trial.score, trial.repeats, trial.error) for trial in found.trials]
