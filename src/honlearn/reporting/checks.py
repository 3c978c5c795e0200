"""Checks: what a careful reader would object to, each with a stable code, a severity and what to do.

In: the :class:`Evidence` that the report gathered. Out: the checks raised, the gravest first. A check
that lacks its evidence does not run; codes never change their meaning and are never given anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from honlearn.errors import listed

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Evidence:
    """What checks look at; a part that is not known is None or empty.

    models: the ``name``, ``model``, ``input``, ``records`` and ``scores`` (name → mean, std, values) of each.
    By name of a model: kappa: mean kappa; calibration: (error, bias); curves: those of the page; never:
    classes never predicted. memory: bits that contexts save of a step, and its bits without them; measured:
    on which paths. degrees: average precision of the product of degrees, for links.
    """

    task: str
    models: Sequence[Mapping[str, Any]]
    labels: Mapping[str, str] | None = None
    folds: int = 0
    test_size: int = 0
    missing: Sequence[str] = ()
    entities: int = 0
    conditional: int = 0
    sinks: int = 0
    memory: tuple[float, float] | None = None
    measured: str = " of the paths it was grown from"
    homophily: float | None = None
    degrees: float | None = None
    kappa: Mapping[str, float] = field(default_factory=dict)
    calibration: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    curves: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    never: Mapping[str, Sequence[str]] = field(default_factory=dict)
    max_epochs: Mapping[str, int] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """What is labelled."""
        return "paths" if self.task == "paths" else "nodes"

    def score(self, model: Mapping[str, Any], name: str) -> float | None:
        """Return the mean of a score of a model, None where it has none."""
        found = model["scores"].get(name)
        return None if found is None else found["mean"]


Finding = tuple[str, str]
Check = Callable[[Evidence], Iterator[Finding]]
_CHECKS: list[tuple[str, str, str, Check]] = []


def _check(code: str, severity: str, title: str) -> Callable[[Check], Check]:
    """Register a check: it yields what was seen and what to do, once for each time that it is raised."""

    def add(check: Check) -> Check:
        assert severity in SEVERITIES
        assert code not in {known for known, *_ in _CHECKS}
        _CHECKS.append((code, severity, title, check))
        return check

    return add


def run_checks(evidence: Evidence) -> dict[str, Any]:
    """Return ``{"ran": number, "raised": [{code, severity, title, seen, advice}, …]}``."""
    raised = [
        {"code": code, "severity": severity, "title": title, "seen": seen, "advice": advice}
        for code, severity, title, check in _CHECKS
        for seen, advice in check(evidence)
    ]
    raised.sort(key=lambda found: (SEVERITIES.index(found["severity"]), found["code"]))
    return {"ran": len(_CHECKS), "raised": raised}


@_check("H001", "warning", "A class has fewer members than there are folds")
def _rare_class(e: Evidence) -> Iterator[Finding]:
    rare = {c: n for c, n in Counter((e.labels or {}).values()).items() if n < e.folds}
    if rare:
        named = listed((f"{name} ({number})" for name, number in sorted(rare.items(), key=lambda r: r[1])), 5)
        yield (
            f"{len(rare)} of {len(set((e.labels or {}).values()))} classes have fewer than {e.folds} "
            f"labelled {e.unit}: {named}. Some test parts lack them, or test what was never trained.",
            "Label more of them, join rare classes, or ask for fewer folds.",
        )


@_check("H002", "warning", "Overfitting: the training loss leaves the validation loss behind")
def _overfitting(e: Evidence) -> Iterator[Finding]:
    caught = []
    for name, curves in e.curves.items():
        last = {c["curve"]: c["mean"][-1] for c in curves if c["phase"] == "search"}
        if {"loss", "validation_loss"} <= last.keys():
            gap = last["validation_loss"] - last["loss"]
            if gap > 0.3 and last["validation_loss"] > 1.8 * last["loss"]:
                caught.append(f"{name} ({last['loss']:.2f} against {last['validation_loss']:.2f})")
    if caught:
        yield (
            f"When the search ends the training loss is far below the validation loss: {listed(caught, 4)}.",
            "Raise input_dropout and hidden_dropout or weight_decay, narrow widths, or label more nodes.",
        )


@_check("H003", "note", "The learners agree too much to gain from one another")
def _agreement(e: Evidence) -> Iterator[Finding]:
    alike = [f"{name} (kappa {kappa:.2f})" for name, kappa in e.kappa.items() if kappa > 0.9]
    if alike:
        yield (
            f"Mean Cohen's kappa of pairs of learners is above 0.9: {listed(alike, 4)}.",
            "Fewer learners would do as well. For more variety lower tau when growing the network, raise "
            "dropout, or use separate weights (a name without *).",
        )


@_check("H004", "note", "The network is nearly of first order")
def _nearly_first_order(e: Evidence) -> Iterator[Finding]:
    if not e.entities:
        return
    if not e.conditional:
        yield (
            "The network has no contexts, so every family has one member.",
            "If tau was given, leave it out: evidence keeps the contexts that matter. Else add paths.",
        )
    elif e.memory is not None and e.memory[1] > 0 and e.memory[0] / e.memory[1] < 0.03:
        yield (
            f"Its contexts save {e.memory[0]:.3f} of the {e.memory[1]:.2f} bits of a step{e.measured}, "
            "so higher order cannot help much.",
            "Expect ties between the first-order and the higher-order network.",
        )


@_check("H005", "note", "Higher order makes no difference that the folds can show")
def _tie(e: Evidence) -> Iterator[Finding]:
    caught = []
    for model in e.models:
        p = model.get("against_g1")
        if p is not None and p > 0.05:
            twin = next(other for other in e.models if other["name"] == model["first_order"])
            main = "micro_f1" if e.task == "nodes" else "degree_auprc"
            main = main if e.score(model, main) is not None else "auprc"
            ours, theirs = e.score(model, main) or 0.0, e.score(twin, main) or 0.0
            caught.append(
                f"{model['model']} {ours:.3f} on the higher-order network, {theirs:.3f} on the first-order "
                f"network (p = {p:.2f})"
            )
    if caught:
        yield (
            f"By the corrected resampled t-test: {listed(caught, 5)}.",
            "Report a tie. More seeds (--seeds) reduce the uncertainty.",
        )


@_check("H006", "warning", "Few nodes are tested in each fold")
def _small_test(e: Evidence) -> Iterator[Finding]:
    if e.task == "nodes" and 0 < e.test_size < 50:
        yield (
            f"A test part has {e.test_size} nodes, so one node is {100 / e.test_size:.1f} points of F1.",
            "Read the spread, not the mean alone; repeat with other folds: honlearn evaluate --seeds 5.",
        )


@_check("H007", "warning", "One class holds most of what is labelled")
def _imbalance(e: Evidence) -> Iterator[Finding]:
    counts = Counter((e.labels or {}).values())
    if counts and counts.most_common(1)[0][1] > 0.7 * counts.total():
        name, number = counts.most_common(1)[0]
        yield (
            f"{name} has {number:,} of {counts.total():,} labelled {e.unit}; always predicting it gives "
            f"micro F1 {number / counts.total():.2f}.",
            "Compare macro F1, and try class_weight=balanced.",
        )


@_check("H008", "error", "A model is no better than always predicting the largest class")
def _no_better_than_majority(e: Evidence) -> Iterator[Finding]:
    counts = Counter((e.labels or {}).values())
    if not counts:
        return
    share = counts.most_common(1)[0][1] / counts.total()
    found = {m["name"]: f1 for m in e.models if (f1 := e.score(m, "micro_f1")) is not None}
    # Without memory nothing may be known: that is a result where the same model with it does better.
    without = {m.get("first_order") for m in e.models if found.get(m["name"], 0.0) > share}
    always = {m["name"] for m in e.models if m["model"] == "majority"}
    low = [name for name, f1 in found.items() if f1 <= share and name not in without | always]
    if low:
        yield (
            f"{listed(low, 5)}: micro F1 at most {share:.3f}, the share of the largest class.",
            "Check that labels belong to these nodes, and that the training converges (learning curves).",
        )


@_check("H009", "warning", "Probabilities are not calibrated")
def _calibration(e: Evidence) -> Iterator[Finding]:
    caught = [
        f"{name} is {'over' if bias > 0 else 'under'}confident by {abs(bias):.2f} "
        f"(calibration error {error:.2f})"
        for name, (error, bias) in e.calibration.items()
        if error > 0.1
    ]
    if caught:
        yield (
            f"Confidence differs from how often predictions are right: {listed(caught, 4)}.",
            "Rank by probability, but do not read it as a frequency. More learners and a refit near 1 help.",
        )


@_check("H010", "warning", "There is no spread to judge a difference by")
def _one_record(e: Evidence) -> Iterator[Finding]:
    lone = [model["name"] for model in e.models if model["records"] == 1]
    if lone:
        yield (
            f"{listed(lone, 5)}: one record.",
            "Let the run finish, or ask for more folds, repetitions or seeds.",
        )


@_check("H011", "warning", "Labels are of nodes that the network does not have")
def _missing_nodes(e: Evidence) -> Iterator[Finding]:
    for note in e.missing:
        yield note, "Check the spelling of the ids, and that the paths are complete."


@_check("H012", "note", "An ensemble does no better than its mean learner")
def _no_gain(e: Evidence) -> Iterator[Finding]:
    low = [
        f"{r['name']} ({g:+.3f})" for r in e.models if (g := e.score(r, "gain")) is not None and g < -0.002
    ]
    if low:
        yield f"{listed(low, 5)}.", "A single learner would be as good and cheaper; see the diversity plot."


@_check("H013", "warning", "Classes are never predicted")
def _never_predicted(e: Evidence) -> Iterator[Finding]:
    caught = [f"{name}: {listed(classes, 4)}" for name, classes in e.never.items() if classes]
    if caught:
        yield (
            f"No node was taken for them. {listed(caught, 4)}.",
            "Label more of them, try class_weight=balanced, or join them with others.",
        )


@_check("H014", "note", "Training ended because the epochs ran out")
def _not_converged(e: Evidence) -> Iterator[Finding]:
    caught = []
    for name, curves in e.curves.items():
        for curve in curves:
            wanted = curve["phase"] == "search" and curve["curve"] == "validation_loss"
            limit = e.max_epochs.get(name)
            if wanted and limit and curve["epoch"][-1] >= limit and curve["mean"][-1] <= min(curve["mean"]):
                caught.append(name)
    if caught:
        yield f"{listed(caught, 5)}: the validation loss still fell in the last epoch.", "Raise max_epochs."


@_check("H015", "note", "Many nodes lead nowhere")
def _sinks(e: Evidence) -> Iterator[Finding]:
    if e.entities and e.sinks > 0.2 * e.entities:
        yield (
            f"{e.sinks:,} of {e.entities:,} entities have no out-edge: no path goes on from them, so they "
            "have no relatives to draw.",
            "Expect little from higher order there; longer paths would help.",
        )


@_check("H016", "warning", "Not all models have all records")
def _incomplete(e: Evidence) -> Iterator[Finding]:
    most = max((model["records"] for model in e.models), default=0)
    short = [f"{model['name']} ({model['records']})" for model in e.models if 1 < model["records"] < most]
    if short:
        yield (
            f"Others have {most} records: {listed(short, 5)}.",
            "Run the same evaluate command again; it goes on where it stopped.",
        )


@_check("H017", "warning", "Degrees alone predict the links as well")
def _degrees(e: Evidence) -> Iterator[Finding]:
    if e.task != "links" or e.degrees is None:
        return
    least = e.degrees + 0.02
    low = [m["name"] for m in e.models if (found := e.score(m, "auprc")) is not None and found < least]
    if low:
        yield (
            f"The product of the two degrees has an average precision of {e.degrees:.3f}; "
            f"{listed(low, 5)} not clearly more.",
            "With uniform negatives that is easy. Read the degree-corrected score (--negatives degree).",
        )


@_check("H018", "note", "Neighbours are mostly of other classes")
def _heterophily(e: Evidence) -> Iterator[Finding]:
    if e.homophily is not None and e.labels:
        shares = [n / len(e.labels) for n in Counter(e.labels.values()).values()]
        chance = sum(share * share for share in shares)
        if e.homophily < 1.2 * chance:
            yield (
                f"{e.homophily:.2f} of the edges join nodes of one class; expected by chance: {chance:.2f}.",
                "Models that average neighbours have a hard time; aggregator=max or features may help.",
            )
