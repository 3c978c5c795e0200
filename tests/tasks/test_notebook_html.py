"""Estimators at the end of a notebook cell."""

from __future__ import annotations

import honlearn as hl
from honlearn.experiments.registry import find_model
from honlearn.hon.edgelist import from_edges
from honlearn.learners import SAGE
from honlearn.paths.html import paths_html


def network() -> hl.HigherOrderNetwork:
    near = [(f"{s}{i}", f"{s}{j}") for s in "ab" for i in range(6) for j in range(6) if i != j]
    return from_edges(*zip(*near, strict=True))


def test_an_estimator_shows_what_was_set_and_how_it_learnt() -> None:
    hon = network()
    clf = hl.DGEClassifier(hon, SAGE(widths=(6, 6)), 2, training=hl.Training(max_epochs=3), random_state=7)
    bundle = clf._repr_mimebundle_()
    assert "DGEClassifier (not fitted)" in bundle["text/html"]
    settings = "learner=SAGE(widths=(6, 6)), n_learners=2, training=Training(max_epochs=3), random_state=7"
    assert settings in bundle["text/html"]
    assert "12 entities, 0 contexts" in bundle["text/html"]
    names = list(hon.vocabulary)
    clf.fit(names, [f"<{name[0]}>" for name in names])
    shown = clf._repr_html_()
    assert "(fitted)" in shown
    assert "2: &lt;a&gt;, &lt;b&gt;" in shown
    assert "<a>" not in shown
    first = clf.history_.iloc[0]
    assert f"{first['loss']:.3f}" in shown


def test_paths_show_the_most_frequent_first_and_escape_names() -> None:
    paths = hl.read_paths([["<i>", "b"], ["c", "b", "d"]], counts=[2, 1500])
    shown = paths_html(paths)
    assert shown.index("c → b → d") < shown.index("&lt;i&gt; → b")
    assert "1,500" in shown
    assert "2 to 3, mean 2.5" in shown
    assert "<i>" not in shown
    assert paths._repr_html_() == shown


def test_baselines_show_themselves_too() -> None:
    hon = network()
    names = list(hon.vocabulary)
    made = find_model("graphsage").make(hon, random_state=0, max_epochs=2)
    made.fit(names, [name[0] for name in names])
    shown = made._repr_mimebundle_()["text/html"]
    assert "(fitted)" in shown
    assert "2: a, b" in shown
