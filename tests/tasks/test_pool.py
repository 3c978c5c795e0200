"""The pool of ``learner="auto"`` on designed predictions: who leaves, who stays, how many learners each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from choice_cases import ROUND, Designed, Rows
from ensemble_cases import tiny

from honlearn.hon.edgelist import from_edges
from honlearn.tasks.choice import Choice
from honlearn.tasks.held import Ledger
from honlearn.tasks.link_split import with_edges
from honlearn.tasks.pool import Place, Pool, Selected

N = 400
EVERYWHERE = np.ones(N, bool)
# A fifth of the examples, as many of them in each part that is held back.
HARD = np.arange(N) // ROUND % 5 == 0
FIRST, NETWORK = "first order", "network"
ROUND_ONE = [f"{kind} {place}" for kind in ("sage 0.5", "gcn 0.25", "gat 0.5") for place in (FIRST, NETWORK)]


def noisy(mean: float, seed: int) -> Rows:
    """Return probabilities of the truth with this mean, which tell nothing of one another."""
    spread = min(mean, 1 - mean) * 0.9
    return np.asarray(np.random.default_rng(seed).uniform(mean - spread, mean + spread, N))


def right(where: Any, high: float, low: float) -> Rows:
    return np.where(where, high, low)


def pool(
    given: Mapping[str, Rows],
    kernels: Mapping[str, Rows] | None = None,
    n_learners: int = 16,
    networks: tuple[str, ...] = (FIRST, NETWORK),
    ledger: Ledger | None = None,
    stop: int | None = None,
    other: float = 0.5,
    **settings: Any,
) -> tuple[Designed, Pool]:
    """Return a pool whose candidates give these probabilities; those that are not named give `other`."""
    search = Designed(lambda one: given.get(one.key, np.full(N, other)), stop)
    hon = tiny()[0]
    made = {FIRST: hon.first_order(), NETWORK: hon}
    places = [Place(key, made[key]) for key in networks]
    choice = Choice(search, N, ledger or Ledger(), False)
    return search, Pool(choice, places, kernels or {}, np.ones(N), n_learners, ROUND, 0, **settings)


def outcome(selected: Selected) -> dict[str, tuple[int, float]]:
    """Return the learners and the share of each component."""
    return {one.key: (count, share) for one, count, share in selected.components}


# --- who leaves and who stays ------------------------------------------------------------------------


def test_useless_candidates_leave() -> None:
    search, made = pool({"sage 0.5 network": noisy(0.9, 0), "gcn 0.25 first order": noisy(0.3, 1)})
    found = outcome(made.select())
    assert found == {"sage 0.5 network": (16, pytest.approx(1.0, abs=0.05))}
    # Powers are tried for what stays, and no deeper convolution where no plain one does.
    assert search.seen() == [*ROUND_ONE, "sage 0 network", "sage 1 network"]
    assert search.trained("sage 0.5 network") == list(range(16))
    for key in set(search.seen()) - set(found):
        assert search.trained(key) == list(range(ROUND))


def test_a_weak_candidate_that_errs_elsewhere_stays_and_a_better_one_that_does_not_leaves() -> None:
    given = {
        "sage 0.5 network": right(HARD, 0.2, 0.9),
        "gcn 0.25 first order": right(HARD, 0.9, 0.5),
        "gat 0.5 network": np.full(N, 0.6),
    }
    # Of sage and gcn the best shares are .778 and .222; gat then gains nothing.
    _, made = pool(given, other=0.3)
    losses = {key: float(-np.log(given[key]).mean()) for key in given}
    assert losses["gat 0.5 network"] < losses["gcn 0.25 first order"]
    found = outcome(made.select())
    assert set(found) == {"sage 0.5 network", "gcn 0.25 first order"}
    assert found["sage 0.5 network"][1] == pytest.approx(0.778, abs=0.05)
    assert found["gcn 0.25 first order"][1] == pytest.approx(0.222, abs=0.05)


def test_a_better_power_takes_over() -> None:
    given = {"gcn 0.25 network": noisy(0.6, 0), "gcn 0 network": noisy(0.6, 0) + 0.3}
    search, made = pool(given, other=0.2)
    found = outcome(made.select())
    assert found == {"gcn 0 network": (16, pytest.approx(1.0, abs=0.05))}
    # A deeper convolution has the power that is left, on that network.
    assert [key for key in search.seen() if key.startswith("gcnii")] == ["gcnii 0 network"]
    assert search.seen() == [*ROUND_ONE, "gcn 0 network", "gcn 0.5 network", "gcnii 0 network"]


def test_powers_are_not_tried_for_learners_that_read_no_weights() -> None:
    search, made = pool({"gat 0.5 first order": noisy(0.8, 0)}, other=0.2)
    assert set(outcome(made.select())) == {"gat 0.5 first order"}
    assert search.seen() == ROUND_ONE


@pytest.mark.parametrize("edges", [5, 0])
def test_powers_are_not_tried_where_all_edges_have_one_weight(edges: int) -> None:
    search, made = pool({"sage 0.5 ring": noisy(0.8, 0)}, networks=(), other=0.2)
    names = [f"n{i}" for i in range(5)]
    ring = with_edges(from_edges(names, names[1:] + names[:1], [3] * 5), np.arange(5) < edges)
    made.places = [Place("ring", ring)]
    assert set(outcome(made.select())) == {"sage 0.5 ring"}
    assert search.seen() == ["sage 0.5 ring", "gcn 0.25 ring", "gat 0.5 ring"]


def test_a_deeper_convolution_may_win() -> None:
    given = {"gcn 0.25 first order": noisy(0.6, 0), "gcnii 0.25 first order": noisy(0.6, 0) + 0.3}
    search, made = pool(given, other=0.2)
    assert set(outcome(made.select())) == {"gcnii 0.25 first order"}
    assert "gcnii 0.25 network" not in search.seen()


def test_solved_data_end_the_search() -> None:
    search, made = pool({"sage 0.5 first order": np.full(N, 0.999)})
    assert set(outcome(made.select())) == {"sage 0.5 first order"}
    # No other kind of learner is tried.
    assert search.seen() == ROUND_ONE[:2]


def test_a_power_that_was_better_is_tried_on_the_other_networks() -> None:
    given = {
        "sage 0.5 network": right(HARD, 0.3, 0.8),
        "sage 0.5 first order": right(HARD, 0.8, 0.6),
        "sage 1 network": right(HARD, 0.5, 0.9),
    }
    search, made = pool(given, other=0.1)
    made.select()
    tried = ["sage 0 network", "sage 1 network", "sage 1 first order"]
    assert search.seen() == [*ROUND_ONE, *tried]


def test_one_network_has_half_the_candidates() -> None:
    search, made = pool({"sage 0.5 network": noisy(0.9, 0)}, networks=(NETWORK,))
    assert set(outcome(made.select())) == {"sage 0.5 network"}
    assert not any(key.endswith(FIRST) for key in search.seen())


def test_candidates_that_nobody_can_tell_apart_share() -> None:
    _, made = pool({}, other=0.7)
    found = outcome(made.select())
    assert len(found) > 3
    assert sum(count for count, _ in found.values()) == 16
    assert np.ptp([share for _, share in found.values()]) < 0.05


def test_the_weights_of_those_that_left_are_forgotten() -> None:
    _, made = pool({"sage 0.5 network": noisy(0.9, 0)})
    (kept, _, _), *_ = made.select().components
    for one in made.choice.candidates:
        assert bool(one.searched) is (one is kept)


# --- learners and shares -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_learners", [1, 2, 5, 16, 40])
def test_learners_go_to_those_that_stay_as_their_shares_say(n_learners: int) -> None:
    given = {"sage 0.5 network": right(HARD, 0.2, 0.9), "gcn 0.25 first order": right(HARD, 0.9, 0.5)}
    search, made = pool(given, other=0.1, n_learners=n_learners)
    selected = made.select()
    found = outcome(selected)
    assert sum(count for count, _ in found.values()) == n_learners
    assert all(count >= 1 for count, _ in found.values())
    assert sum(share for _, share in found.values()) == pytest.approx(1)
    if n_learners >= 5:
        assert found["sage 0.5 network"][0] == pytest.approx(0.778 * n_learners, abs=0.05 * n_learners + 1)
    else:
        # Too few learners for the smaller share.
        assert set(found) == {"sage 0.5 network"} or n_learners == 2
    for one, count, _ in selected.components:
        assert search.trained(one.key) == list(range(max(count, ROUND)))
        assert all(stop - start <= ROUND for key, start, stop in search.asked if key == one.key)


def test_a_kernel_that_is_right_has_most_of_the_prediction() -> None:
    given = {"sage 0.5 network": noisy(0.5, 0)}
    _, made = pool(given, {FIRST: noisy(0.4, 1), NETWORK: noisy(0.9, 2)}, other=0.2)
    selected = made.select()
    assert selected.kernel_shares[NETWORK] > 0.7 > 0.05 > selected.kernel_shares[FIRST]
    # Never all of it: an ensemble is always there to ask for its uncertainty.
    assert selected.kernel_share == pytest.approx(0.75)
    assert selected.kernel_share == pytest.approx(sum(selected.kernel_shares.values()))
    assert sum(share for _, share in outcome(selected).values()) == pytest.approx(1 - selected.kernel_share)
    # Somebody must be trained, though.
    assert sum(count for count, _ in outcome(selected).values()) == 16


def test_a_kernel_of_noise_has_no_share() -> None:
    _, made = pool(
        {"sage 0.5 network": noisy(0.9, 0)}, {FIRST: noisy(0.3, 1), NETWORK: noisy(0.3, 2)}, other=0.2
    )
    assert made.select().kernel_share < 0.05


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_that_was_given_is_kept(share: float) -> None:
    kernels = {FIRST: noisy(0.9, 1), NETWORK: noisy(0.3, 2)}
    _, made = pool({"sage 0.5 network": noisy(0.9, 0)}, kernels, other=0.2, kernel_share=share)
    selected = made.select()
    assert selected.kernel_share == pytest.approx(share)
    assert sum(part for _, part in outcome(selected).values()) == pytest.approx(1 - share)
    # Among the kernels it goes to those that predict.
    assert selected.kernel_shares[FIRST] >= 0.9 * share


def test_examples_without_weight_have_no_say() -> None:
    given = {"sage 0.5 network": right(HARD, 0.95, 0.05), "gcn 0.25 network": right(HARD, 0.3, 0.9)}
    _, made = pool(given, other=0.1)
    made.weights = HARD.astype(np.float64)
    assert set(outcome(made.select())) == {"sage 0.5 network"}
    made = pool(given, other=0.1)[1]
    made.weights = (~HARD).astype(np.float64)
    assert set(outcome(made.select())) == {"gcn 0.25 network"}


# --- killed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("searches", [1, 6, 8, 11])
def test_a_killed_pool_goes_on_to_the_same_bag(searches: int, tmp_path: Path) -> None:
    given = {"sage 0.5 network": right(HARD, 0.2, 0.9), "gcn 0.25 first order": right(HARD, 0.9, 0.5)}
    search, made = pool(given, other=0.1)
    straight = made.select()
    assert len(search.asked) > 11
    path = tmp_path / "fit.choice"
    dying, killed = pool(given, other=0.1, ledger=Ledger(path, "mark", 0.0), stop=searches)
    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        killed.select()
    rest, again = pool(given, other=0.1, ledger=Ledger(path, "mark", 0.0))
    resumed = again.select()
    assert outcome(resumed) == outcome(straight)
    assert dying.asked + rest.asked == search.asked
