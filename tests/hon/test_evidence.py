"""The evidence for contexts: closed forms, enumeration, no false contexts, every planted one."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.hon.bayes_factor import LEAST_CONCENTRATION, bayes_factors, compare
from honlearn.hon.g_test import GTests, chi_square_tail, g_tests
from honlearn.hon.next_rows import Rows
from honlearn.paths.paths import Paths


def rows(table: list[list[int]]) -> Rows:
    """Next steps of several contexts, zeros left out."""
    counts = np.array(table, np.int64)
    first = np.concatenate([[0], np.cumsum((counts > 0).sum(axis=1))])
    at, x = np.nonzero(counts)
    return Rows(first, x.astype(np.int32), counts[at, x], counts.sum(axis=1))


def outcome(contexts: list[list[int]], suffix: list[int], stream: int = 0) -> GTests:
    return g_tests(rows(contexts), rows([suffix]), np.zeros(len(contexts), np.int64), stream)


def g_of(mine: list[int], suffix: list[int]) -> float:
    f, both = np.array(mine, float), np.array(suffix, float)
    return float(stats.contingency.chi2_contingency([f, both - f], False, lambda_="log-likelihood").statistic)


@given(st.floats(0, 5000), st.integers(1, 3000))
@settings(max_examples=300)
def test_the_tail_of_chi_square(x: float, df: int) -> None:
    expected = stats.chi2.sf(x, df)
    assert chi_square_tail(x, df) == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_a_large_table_has_the_chi_square_tail_with_williams_correction() -> None:
    mine, suffix = [300, 150, 80, 70], [900, 600, 300, 250]
    tests = outcome([mine], suffix)
    assert tests.g[0] == pytest.approx(g_of(mine, suffix), rel=1e-12)
    assert tests.df[0] == 3
    n, c = sum(suffix), sum(mine)
    columns = n * sum(1 / x for x in suffix) - 1
    williams = 1 + (n / c + n / (n - c) - 1) * columns / (6 * n * 3)
    assert tests.p[0] == pytest.approx(stats.chi2.sf(tests.g[0] / williams, 3), rel=1e-9)


def test_rare_next_steps_of_a_large_table_are_one() -> None:
    suffix = [6000, 5000, *[10] * 40]
    mine = [600, 560, *[1] * 30, *[0] * 10]
    pooled = outcome([[600, 560, 30]], [6000, 5000, 400])
    tests = outcome([mine], suffix)
    assert (tests.g[0], tests.df[0]) == (pytest.approx(pooled.g[0]), 2)
    assert tests.p[0] == pytest.approx(pooled.p[0])


def test_a_pool_that_is_too_rare_is_left_out() -> None:
    tests = outcome([[600, 560, 1]], [6000, 5000, 20])
    left = outcome([[600, 560]], [6000, 5000])
    assert (tests.g[0], tests.df[0], tests.p[0]) == pytest.approx((left.g[0], 1, left.p[0]))


def exact(mine: list[int], suffix: list[int]) -> float:
    """P(G ≥ observed) over all tables with these margins."""
    size, limit = sum(mine), g_of(mine, suffix) - 1e-9
    total = 0.0
    for table in itertools.product(*(range(min(size, x) + 1) for x in suffix)):
        if sum(table) == size and g_of(list(table), suffix) >= limit:
            total += math.prod(math.comb(f, t) for f, t in zip(suffix, table, strict=True))
    return total / math.comb(sum(suffix), size)


@pytest.mark.parametrize(
    ("mine", "suffix"),
    [
        ([5, 0], [5, 5]),
        ([4, 1, 0], [6, 6, 6]),
        ([0, 3, 3], [20, 5, 4]),
        ([7, 0, 0, 0], [9, 9, 9, 9]),
        ([1, 1, 1, 1], [9, 9, 9, 9]),
        ([8, 9, 3], [10, 10, 10]),  # the other row is the smaller
        ([6, 0, 0], [12, 30, 60]),
    ],
    ids=str,
)
def test_small_tables_are_tested_exactly(mine: list[int], suffix: list[int]) -> None:
    p = np.array([outcome([mine], suffix, stream).p[0] for stream in range(60)])
    truth = exact(mine, suffix)
    # The observed table is one of the draws, so p is a little too large rather than too small.
    assert 0.85 * truth < p.mean() < 1.15 * truth + 5e-4
    assert p.min() > truth / 4


def test_p_is_as_small_as_the_evidence_is_strong() -> None:
    [p] = outcome([[40, *[0] * 19]], [100] * 20).p
    truth = 20 * math.comb(100, 40) / math.comb(2000, 40)
    # 3e-55: no plain sampling gets there. Far out p is a bound, too large and never too small.
    assert truth < p < truth * 1000


def test_p_values_are_valid_without_memory() -> None:
    rng = np.random.default_rng(3)
    suffix = [40, 30, 20, 10, 5, 5, 2, 2, *[1] * 20]
    tables = [rng.multivariate_hypergeometric(suffix, c) for c in rng.integers(2, 60, 4000)]
    p = np.array([outcome([t.tolist()], suffix, i).p[0] for i, t in enumerate(tables)])
    for level in (0.001, 0.01, 0.05, 0.2, 0.5):
        assert (p <= level).mean() <= level + 3 * math.sqrt(level / len(p))


def test_what_is_not_tested() -> None:
    suffix = [4, 4]
    tests = outcome([[1, 0], [0, 2], [4, 3], [4, 4], [0, 0], [4, 2]], suffix)
    assert tests.tested.tolist() == [False, True, False, False, False, True]
    assert tests.p[~tests.tested].tolist() == [1.0] * 4
    assert tests.g[~tests.tested].tolist() == [0.0] * 4
    assert not outcome([[3]], [9]).tested.any()  # one next step: nothing to differ in


def test_huge_counts_keep_their_precision() -> None:
    mine, suffix = [2**58, 2**58 + 2**31], [2**60, 2**60]
    tests = outcome([mine], suffix)
    with localcontext(prec=60):
        n, c = Decimal(sum(suffix)), Decimal(sum(mine))
        terms = [
            part * (part * n / (row * both)).ln()
            for f, both in zip(map(Decimal, mine), map(Decimal, suffix), strict=True)
            for part, row in ((f, c), (both - f, n - c))
        ]
        assert tests.g[0] == pytest.approx(float(2 * sum(terms)), rel=1e-6)
    assert 0 < tests.p[0] < 1


def ln_bf(f: np.ndarray, q: np.ndarray, a: float) -> float:
    """The Dirichlet-multinomial of `f` around q against the multinomial."""
    alternative = special.gammaln(a) - special.gammaln(a + f.sum())
    alternative += (special.gammaln(a * q + f) - special.gammaln(a * q)).sum()
    return float(alternative - (f * np.log(q)).sum())


def test_bayes_factors_agree_with_their_formula() -> None:
    rng = np.random.default_rng(0)
    suffix = np.array([60, 30, 20, 10, 5, 200, 3])
    tables = [np.minimum(rng.multinomial(n, rng.dirichlet(np.ones(7))), suffix) for n in (3, 9, 30, 80)]
    found = bayes_factors(
        rows([t.tolist() for t in tables]), rows([suffix.tolist()]), np.zeros(4, np.int64), np.ones(4, bool)
    )
    total, weight = suffix.sum(), len(suffix) / 2
    for table, value in zip(tables, found.ln_bf, strict=True):
        known = total - table.sum() + weight
        q = (suffix - table + weight * suffix / total) / known
        a = 1 / (1 / found.concentration + 1 / known)
        assert value == pytest.approx(ln_bf(table, q, a) - ln_bf(table, q, known), rel=1e-9, abs=1e-9)
    odds = found.ln_bf + math.log(found.prior / (1 - found.prior))
    assert found.posterior.tolist() == pytest.approx(special.expit(odds).tolist())


def test_contexts_with_many_next_steps_have_a_bayes_factor() -> None:
    size = 700
    table, suffix = np.ones(size, np.int64), np.full(size, 3)
    one = rows([table.tolist()]), rows([suffix.tolist()]), np.zeros(1, np.int64), np.ones(1, bool)
    found = compare(*one).ln_bf(LEAST_CONCENTRATION)
    known = 2 * size + size / 2
    q = np.full(size, 1 / size)
    a = 1 / (1 / LEAST_CONCENTRATION + 1 / known)
    assert found.tolist() == pytest.approx([ln_bf(table, q, a) - ln_bf(table, q, known)], rel=1e-9)
    # Sharp memories around it make the concentration small, and a context with many next steps is kept.
    paths = [[f"s{i}", "hub", f"t{i}"] for i in range(20)] * 20
    network = hl.grow([*paths, *(["wide", "hub", f"x{j}"] for j in range(size))])
    assert "hub|wide" in network
    assert np.isfinite(network.statistics.ln_bayes_factor).all()


def test_the_prior_and_the_concentration_are_found() -> None:
    rng = np.random.default_rng(5)
    q, n = rng.dirichlet(np.full(12, 2.0)), 3000
    suffix, contexts = np.zeros(12, np.int64), []
    for i in range(n):
        mine = rng.dirichlet(8.0 * q) if i % 10 < 3 else q
        contexts.append(rng.multinomial(50, mine))
        suffix += contexts[-1]
    one = np.zeros(n, np.int64)
    found = bayes_factors(
        rows([c.tolist() for c in contexts]), rows([suffix.tolist()]), one, np.ones(n, bool)
    )
    assert found.prior == pytest.approx(0.3, abs=0.03)
    assert found.concentration == pytest.approx(8.0, rel=0.15)
    real = np.arange(n) % 10 < 3
    assert found.posterior[real].mean() > 0.9
    assert found.posterior[~real].mean() < 0.05


def memoryless(n: int, seed: int, entities: int = 12) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(entities, 0.5), entities)
    paths = []
    for _ in range(n):
        path = [int(rng.integers(entities))]
        for _ in range(int(rng.integers(1, 8))):
            path.append(int(rng.choice(entities, p=shares[path[-1]])))
        paths.append([str(x) for x in path])
    return paths


def test_paths_without_memory_keep_no_context() -> None:
    kept = [hl.grow(memoryless(1000, seed), order=3).n_conditional for seed in range(10)]
    assert np.count_nonzero(kept) <= 2
    assert all(hl.grow(memoryless(300, s), order=3, tau=1).n_conditional > 20 for s in range(3))
    drawn = hl.count_grams(memoryless(1000, 0), order=3).sample_network(0)
    assert drawn.n_conditional <= 5


@pytest.mark.parametrize("labelled", ["sources", "hubs"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_every_planted_context_is_found(order: int, labelled: str) -> None:
    nodes = 200 if order == 2 else 40
    data = hl.datasets.synthetic(order=order, labelled=labelled, n_nodes=nodes, n_hubs=3)
    network = hl.grow(data.paths, order=order)
    planted = set(data.truth.contexts)
    kept = set(network.nodes[network.n_entities :])
    assert planted <= kept
    by_test = network.dependencies().query("kept_by == 'test'")
    assert len(set(by_test.node) - planted) <= 0.1 * len(planted)
    assert hl.grow(data.paths, order="auto").parameters.order == order


def test_auto_looks_further_only_where_it_helps() -> None:
    paths = [[s, *middle, f"{s}!"] for middle in ("abc", "mnopq") for s in "XYZ" for _ in range(20)]
    assert hl.grow(paths, order="auto").parameters.order == 6
    assert hl.grow(iter(paths), order="auto").parameters.order == 6
    assert hl.grow(memoryless(400, 1), order="auto").parameters.order == 1
    assert hl.grow(paths, order="auto") == hl.grow(paths, order=6)
    counts = hl.count_grams(paths, order=5)
    assert counts.grow("auto").parameters.order == 4
    assert hl.count_grams(paths, order=3).grow("auto").parameters.order == 1


def test_evidence_belongs_to_contexts_not_to_names() -> None:
    rng = np.random.default_rng(2)
    paths = memoryless(200, 0) + [[a, "hub", f"{a}{rng.integers(2)}"] for a in "XYZ" for _ in range(8)]
    renamed = [[f"~{name[::-1]}" for name in path] for path in paths[::-1]]
    for one, other in zip(
        *(hl.count_grams(p, order=3).evidence().levels for p in (paths, renamed)), strict=True
    ):
        for name in ("p", "q", "ln_bf", "posterior"):
            mine, theirs = np.sort(getattr(one, name)), np.sort(getattr(other, name))
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def test_evidence_is_one_value_per_context_and_cannot_change() -> None:
    counts = hl.count_grams(memoryless(300, 0), order=4)
    evidence = counts.evidence(3)
    assert evidence is counts.evidence(3)
    assert [level.length for level in evidence.levels] == [2, 3]
    assert [len(level) for level in evidence.levels] == [len(level) for level in counts.levels[1:3]]
    assert evidence.n_tested == sum(level.tested.sum() for level in evidence.levels)
    assert counts.evidence(1).levels == ()
    level = counts.evidence().levels[0]
    assert (level.p == evidence.levels[0].p).all()
    assert (level.q >= level.p).all()
    seen_once = counts.levels[1].followed < 2
    assert (level.posterior[seen_once] == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        level.p[0] = 0
    with pytest.raises(
        ParameterError, match="'order' parameter of evidence must be a whole number, from 1 to 4"
    ):
        counts.evidence(5)


def test_networks_drawn_from_the_posterior() -> None:
    counts = hl.count_grams(hl.datasets.us_flights().paths, order=3)
    one, same, other = (counts.sample_network(seed) for seed in (0, 0, 1))
    assert one == same
    assert one != other
    assert one.parameters.rule == "drawn from the posterior, seed 0"
    with pytest.raises(
        ParameterError, match="'seed' parameter of sample_network must be a whole number, from 0"
    ):
        counts.sample_network(2**63)
    posterior = counts.evidence().levels[1].posterior
    longest = np.array([int((counts.sample_network(seed).order == 3).sum()) for seed in range(8)])
    spread = math.sqrt((posterior * (1 - posterior)).sum() / 8)
    assert longest.mean() == pytest.approx(posterior.sum(), abs=5 * spread)
    # A kept context keeps its prefix.
    nodes = set(one.nodes)
    assert all("|".join(node.split("|")[1:]) in nodes for node in one.nodes if node.count("|") == 2)


def test_alpha_keeps_the_significant_contexts_and_what_they_need() -> None:
    counts = hl.count_grams(hl.datasets.us_flights().paths, order=3)
    for alpha in (0.2, 0.05, 0.001):
        network = counts.grow(alpha=alpha)
        significant = [int(flags.sum()) for flags in counts.evidence().significant(alpha)]
        statistics = network.statistics
        assert (statistics.q_value[~statistics.by_extension] <= alpha).all()
        assert (statistics.q_value[statistics.by_extension] > alpha).all()
        assert (~statistics.by_extension).sum() == sum(significant)
        assert network.parameters.alpha == alpha
    assert counts.grow(alpha=1) == counts.grow(alpha=1, min_support=1)
    assert counts.grow(alpha=1).n_conditional == sum(
        (level.followed > 0).sum() for level in counts.levels[1:3]
    )
    assert counts.grow(min_support=10) == counts.grow(tau=1.0, min_support=10)
    assert counts.grow(tau=3) == counts.grow(tau=3, min_support=1)


def test_scores_of_some_contexts_are_those_of_all() -> None:
    rng = np.random.default_rng(4)
    paths = [[f"e{i}" for i in rng.integers(0, 12, 6)] for _ in range(300)]
    for level in hl.count_grams(paths, order=3).evidence().levels:
        assert 0 < level.tested.sum() < len(level)
        some = np.arange(0, len(level), 3)
        for name in ("g", "df", "p", "q", "ln_bf", "posterior"):
            everything = getattr(level, name)
            assert np.array_equal(level.at(some, name), everything[some])
            assert (everything[~level.tested] == (1 if name in "pq" else 0)).all()


def test_the_file_keeps_the_rule_and_the_evidence(tmp_path: Path) -> None:
    counts = hl.count_grams(hl.datasets.us_flights().paths, order=2)
    for network in (counts.grow(), counts.sample_network(7), counts.grow(tau=10), counts.grow(alpha=1)):
        network.save(tmp_path / "net.hon")
        back = hl.load_network(tmp_path / "net.hon")
        assert back == network
        assert back.parameters == network.parameters
        assert back.statistics == network.statistics
        assert back.dependencies(5).equals(network.dependencies(5))


def test_the_edges_hold_the_same_evidence_where_the_suffix_is_a_node(tmp_path: Path) -> None:
    counts = hl.count_grams(memoryless(1500, 0), order=3)
    network = counts.grow(alpha=1)
    known = network.dependencies()
    assert known.q_value.isna().all()
    network.save(tmp_path / "net.txt")
    read = hl.load_network(tmp_path / "net.txt").dependencies()
    columns = ["p_value", "ln_bayes_factor"]
    known, read = (frame.set_index("node").sort_index() for frame in (known, read))
    assert known[columns].equals(read[columns])
    for level, counted in zip(counts.evidence().levels, counts.levels[1:], strict=False):
        here = known[known.order == level.length]
        followed = counted.followed > 0
        for column, values in (("p_value", level.p), ("ln_bayes_factor", level.ln_bf)):
            np.testing.assert_allclose(
                np.sort(here[column]), np.sort(values[followed]), rtol=1e-9, atol=1e-12
            )


def test_edges_that_no_paths_give_have_no_evidence() -> None:
    from honlearn.hon.edgelist import from_edges

    source, target = ["A", "C|A", "C|A", "C", "C", "C|B|A", "C|B"], ["C|A", "D", "E", "D", "D|C", "D", "E"]
    frame = from_edges(source, target, [5, 9, 9, 6, 6, 3, 2]).dependencies().set_index("node")
    assert frame.p_value.isna().tolist() == frame.ln_bayes_factor.isna().tolist()
    assert {node for node in frame.index if math.isnan(frame.p_value[node])} == {"C|A", "C|B", "C|B|A"}
    fractions = from_edges(source, target, [0.5] * 7).dependencies()
    assert fractions.p_value.isna().all()


def test_contexts_seen_once_are_never_on_top() -> None:
    paths = Paths.from_lists(
        [list("ACD"), list("BCE"), list("XCF"), list("AC"), list("YCG")], [9, 9, 1, 5, 1]
    )
    for options in ({"tau": 0.1}, {"alpha": 1}):
        frame = hl.grow(paths, order=2, **options).dependencies()
        assert frame.weight.tolist() == sorted(frame.weight, reverse=True)
        assert set(frame.node[:2]) == {"C|A", "C|B"}


def test_forged_evidence_is_refused() -> None:
    network = hl.grow([["A", "C", "D"], ["B", "C", "E"]] * 9)
    known = network.statistics
    from dataclasses import replace

    for name, values in (
        ("p_value", [0.1, 1.1]),
        ("q_value", [np.nan, 0.5]),
        ("ln_bayes_factor", [np.inf, 0.0]),
    ):
        with pytest.raises(InputError, match=f"a value of {name} that no counts give"):
            replace(known, **{name: np.array(values)})
    with pytest.raises(InputError, match="of the evidence, only p_value, q_value is there; give all or none"):
        replace(known, ln_bayes_factor=None)
