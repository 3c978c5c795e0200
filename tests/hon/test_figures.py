"""Pictures of memory: what is drawn adds up to what was observed."""

from __future__ import annotations

import numpy as np
import pytest

import honlearn as hl
from honlearn.errors import InputError
from honlearn.hon.figures import _flow

PATHS = [["A", "C", "D"]] * 30 + [["B", "C", "E"]] * 20 + [["F", "C", "D"]] + [["F", "C", "E"]]


@pytest.fixture(scope="module")
def network() -> hl.HigherOrderNetwork:
    return hl.grow(PATHS, order=2, alpha=0.05)


def test_the_flow_is_that_of_the_paths(network: hl.HigherOrderNetwork) -> None:
    (sources, targets), flow = _flow(network, "C", 6)
    table = {(s, t): flow[i, j] for i, s in enumerate(sources) for j, t in enumerate(targets) if flow[i, j]}
    assert table == {("A", "D"): 30, ("B", "E"): 20, ("start, others", "D"): 1, ("start, others", "E"): 1}


def test_the_rest_is_kept_together(network: hl.HigherOrderNetwork) -> None:
    (sources, targets), flow = _flow(network, "C", 1)
    assert sources == ["A", "start, others"]
    assert targets == ["D", "others"]
    assert np.array_equal(flow, [[30, 0], [1, 21]])


def test_a_figure_names_the_entities(network: hl.HigherOrderNetwork) -> None:
    texts = {text.get_text() for text in network.plot("C").axes[0].texts}
    assert {"came from", "at C", "goes to", "A  58%", "D  60%"} <= texts


def test_what_cannot_be_drawn(network: hl.HigherOrderNetwork) -> None:
    with pytest.raises(InputError, match="nothing follows 'D'"):
        network.plot("D")
    with pytest.raises(InputError, match="no entity 'Q'"):
        network.plot("Q")
    context = next(label for label in network.nodes if "|" in label)
    with pytest.raises(InputError, match="is a context; name its entity"):
        network.plot(context)


def test_memory_of_counts() -> None:
    axes = hl.count_grams(PATHS, order=2).plot_memory(top=2).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "C|B"
    assert len(axes.patches) == 2
    # 20 steps from C|B, each of which has probability 1 in place of 21 in 52.
    assert axes.patches[-1].get_width() == pytest.approx(20 * np.log2(52 / 21))
    calm = hl.count_grams([["A", "B"], ["B", "A"]], order=2).plot_memory()
    assert calm.axes[0].texts[0].get_text() == "no context is significant"
