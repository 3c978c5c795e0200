"""Scores of links against closed forms; evaluations that share their splits, hide them, and resume."""

from __future__ import annotations

import numpy as np
import pytest

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.experiments.evaluate import ModelSpec
from honlearn.experiments.link_data import LinkData, LinkProtocol, grown_from
from honlearn.experiments.link_metrics import hits_at, link_scores, mean_reciprocal_rank
from honlearn.experiments.links import evaluate_links, plan_links
from honlearn.experiments.registry import find_model, model_names
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.paths.pairs import cut_paths
from honlearn.results.link_tests import read_test
from honlearn.results.summary import summarise

QUICK = {"n_learners": 2, "widths": (6, 6), "pair_width": 4, "max_epochs": 2, "n_threads": 1}


def paths() -> hl.Paths:
    random = np.random.default_rng(1)
    walks = []
    for _ in range(400):
        start = int(random.integers(24))
        walks.append([f"n{(start + k * int(random.integers(1, 4))) % 24:02d}" for k in range(4)])
    return hl.Paths.from_lists(walks)


def network() -> HigherOrderNetwork:
    return hl.grow(paths(), order=2, tau=0.3, min_support=2)


# --- scores -----------------------------------------------------------------------------------------


def test_perfect_and_worthless_rankings() -> None:
    truth = np.repeat([1, 0], 50)
    best = link_scores(truth, np.linspace(1, 0, 100))
    assert best["auprc"] == best["auroc"] == best["hits_at_10"] == best["mrr"] == 1.0
    level = link_scores(truth, np.full(100, 0.5))
    assert (level["auprc"], level["auroc"], level["hits_at_10"]) == (0.5, 0.5, 0.0)
    assert level["mrr"] == pytest.approx(1 / 26)
    assert level["log_loss"] == pytest.approx(np.log(2))
    assert level["single_auprc"] is None


def test_ranks_by_hand() -> None:
    truth = np.array([1, 1, 1, 0, 0, 0])
    linked = np.array([0.9, 0.5, 0.3, 0.8, 0.5, 0.1])
    # Above 0.9: none; above 0.5: one and one level; above 0.3: two.
    assert mean_reciprocal_rank(truth, linked) == pytest.approx((1 + 1 / 2.5 + 1 / 3) / 3)
    assert [hits_at(truth, linked, k) for k in (1, 2, 3, 4)] == [1 / 3, 1 / 3, 1.0, 1.0]


def test_members() -> None:
    truth = np.array([1, 0, 1, 0])
    good, bad = np.array([0.9, 0.1, 0.8, 0.2]), np.array([0.1, 0.9, 0.2, 0.8])
    scores = link_scores(truth, good, np.stack([good, bad]))
    assert scores["single_auprc"] == pytest.approx((1 + (1 / 3 + 2 / 4) / 2) / 2)
    assert scores["gain"] == pytest.approx(1 - scores["single_auprc"])
    assert scores["disagreement"] == 1.0


def test_one_kind_of_pairs_has_no_score() -> None:
    with pytest.raises(InputError, match="there is only one kind"):
        link_scores(np.ones(3, np.int64), np.array([0.1, 0.2, 0.3]))


# --- evaluations ------------------------------------------------------------------------------------


def spec(name: str = "dge-bag", **settings: object) -> ModelSpec:
    return ModelSpec(find_model(name, "links"), {**QUICK, **settings})


def test_every_ensemble_is_there_for_links() -> None:
    assert model_names("links")[:9] == model_names("nodes")[:9]
    assert find_model("dge-bag-shared", "links").estimator() is hl.DGELinkPredictor


def test_inputs_share_their_splits_and_none_sees_a_test_pair() -> None:
    data = LinkData(network(), LinkProtocol(repetitions=2), "both")
    jobs = plan_links(data, [spec()], seed=3)
    assert [(job.input, job.repetition) for job in jobs] == [("gk", 0), ("g1", 0), ("gk", 1), ("g1", 1)]
    tests = [job.configuration.data.test for job in jobs]
    assert tests[::2] == tests[1::2]
    assert tests[0] != tests[2]
    for job in jobs:
        hidden = {frozenset(pair) for pair in data.split(job.seed).names}
        edges = data.visible(job.input, job.seed).network.to_pandas()
        ends = zip(edges["source"], edges["target"], strict=True)
        assert not any(frozenset(end.split("|")[0] for end in edge) in hidden for edge in ends)


@pytest.mark.parametrize("which", ["gk", "g1", "both"])
def test_a_network_without_memory_is_called_first_order(which: str) -> None:
    data = LinkData(network().first_order(), LinkProtocol(repetitions=1), which)
    (job,) = plan_links(data, [spec()], seed=0)
    assert job.input == "g1"
    assert data.visible("g1", job.seed).network == data.split(job.seed).network


def test_with_paths_the_network_is_grown_from_paths_without_tested_visits() -> None:
    source = grown_from(paths(), network(), "paths.txt")
    data = LinkData(network(), LinkProtocol(repetitions=1), "both", source)
    job, first = plan_links(data, [spec()], seed=0)
    hidden = "no trace ranked from paths without tested visits"
    assert job.configuration.folds == f"0.1 directed exclude both negatives {hidden}"
    cut = cut_paths(paths(), data.split(job.seed).names, visits=True)
    seen = data.visible("gk", job.seed)
    assert seen.network == with_entities(hl.grow(cut, order=2, tau=0.3, min_support=2), network().vocabulary)
    assert list(seen.paths) == list(cut)
    assert seen.counts.grow(1) == hl.grow(cut, order=1)
    assert data.visible("g1", first.seed).network == with_entities(
        hl.grow(cut, order=1), network().vocabulary
    )
    assert data.visible("gk", job.seed) is seen


def test_paths_of_another_network_are_refused() -> None:
    with pytest.raises(InputError, match=r"p.txt: grown by the network's own parameters .* name the paths"):
        grown_from(hl.Paths.from_lists([["a", "b"]]), network(), "p.txt")
    with pytest.raises(InputError, match=r"p.txt: the network has no record of how it was grown"):
        grown_from(paths(), network().first_order(), "p.txt")


def test_a_run_goes_on_where_it_stopped(tmp_path) -> None:  # type: ignore[no-untyped-def]
    data = LinkData(network(), LinkProtocol(repetitions=2))
    jobs = plan_links(data, [spec(), spec("dge-pool")], seed=0)
    running = evaluate_links(data, jobs, tmp_path)
    first = next(running)
    running.close()
    done = list(evaluate_links(data, jobs, tmp_path))
    assert [ran for _, _, ran in done] == [False, True, True, True]
    assert done[0][1] == first[1]
    rows = summarise([record for _, record, _ in done], ("auprc", "auroc"))
    assert [(row["model"], row["records"]) for row in rows] == [("dge-bag", 2), ("dge-pool", 2)]
    assert 0 <= rows[0]["auprc_mean"] <= 1
    assert rows[0]["p_value"] is None
    assert rows[1]["p_value"] is not None
    sizes = done[0][1].sizes
    assert sizes.counts["tested"]
    assert sizes.test == 3 * sizes.counts["tested"]
    scores = done[0][1].scores
    for name in ("degree_auprc", "auprc", "filtered_mrr", "filtered_hits_at_10"):
        assert 0 <= scores[name] <= 1
    for job in jobs:
        kept = read_test(tmp_path, job.configuration.data.test)
        assert kept is not None
        assert list(kept.pairs) == data.split(job.seed).names


def test_bad_protocols() -> None:
    with pytest.raises(ParameterError, match="'repetitions' parameter of evaluate must be a whole number"):
        LinkData(network(), LinkProtocol(repetitions=0))
    with pytest.raises(ParameterError, match="'input' parameter of evaluate"):
        LinkData(network(), LinkProtocol(), "g2")
    data = LinkData(network(), LinkProtocol(repetitions=1))
    with pytest.raises(ParameterError, match="a model is named twice"):
        plan_links(data, [spec(), spec()], seed=0)
