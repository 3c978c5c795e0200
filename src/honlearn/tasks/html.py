"""An estimator at the end of a notebook cell: what it is, what it was fitted on, how its training went.

In: an estimator, fitted or not. Out: a fragment of HTML with every name escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from honlearn.errors import listed
from honlearn.paths.html import card, table

if TYPE_CHECKING:
    import pandas


class Shown:
    """An estimator that shows itself: notebooks ask for the bundle first, other programs for the HTML.

    It stands before scikit-learn's base class, whose diagram would list parameters and no fit.
    """

    def _repr_html_(self) -> str:
        return estimator_html(self)

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def estimator_html(estimator: Any) -> str:
    """Return the HTML of an estimator: its network, settings other than the defaults, and its fit."""
    network = getattr(estimator, "network_", estimator.network)
    sizes = ""
    if hasattr(network, "n_entities"):
        sizes = (
            f"{network.n_entities:,} entities, {network.n_conditional:,} contexts, {network.n_edges:,} edges"
        )
    facts: dict[str, object] = {"network": sizes, "settings": _changed(estimator)}
    fitted = hasattr(estimator, "classes_")
    tables = []
    if fitted:
        classes = [str(name) for name in estimator.classes_.tolist()]
        facts["classes"] = f"{len(classes)}: {listed(classes, 8)}"
        facts["parameters"] = f"{estimator.n_parameters_:,}" if hasattr(estimator, "n_parameters_") else ""
        best = getattr(estimator, "best_epochs_", None)
        facts["epochs"] = "" if best is None or not len(best) else f"{min(best)} to {max(best)}"
        kernel = getattr(estimator, "kernel_proba_", None)
        facts["kernel"] = "" if kernel is None else f"{estimator.kernel_share_:.0%} of the answer"
        facts["edge power"] = f"{estimator.edge_power_:g}" if hasattr(estimator, "edge_power_") else ""
        facts["seed"] = getattr(estimator, "seed_", "")
        tables = _components(estimator) + _history(getattr(estimator, "history_", None))
    return card(f"{type(estimator).__name__} ({'fitted' if fitted else 'not fitted'})", facts, *tables)


def _changed(estimator: Any) -> str:
    """Return the parameters that are not at their defaults; the network is shown by its sizes."""
    import inspect

    defaults = inspect.signature(type(estimator)).parameters
    given = estimator.get_params(deep=False)
    changed = []
    for name, parameter in defaults.items():
        if name == "network" or name not in given:
            continue
        value, default = given[name], parameter.default
        same = value is default or (
            type(value) is type(default) and not hasattr(value, "shape") and value == default
        )
        if not same:
            shape = getattr(value, "shape", None)
            changed.append(f"{name}={f'array {shape}' if shape is not None else repr(value)}")
    return listed(changed, 12)


def _components(estimator: Any) -> list[str]:
    """Return the components of a bag as a table where there are several."""
    if len(getattr(estimator, "components_", ())) < 2:
        return []
    rows = []
    for _, part in estimator.members_.groupby("component", sort=True):
        first = part.iloc[0]
        cells = [str(first["learner"]), f"{first['edge_power']:g}", str(first["network"])]
        rows.append([*cells, str(len(part)), f"{part['weight'].sum():.0%}"])
    return [table(["learner", "edge power", "network", "members", "share"], rows, [1, 3, 4])]


def _history(history: pandas.DataFrame | None) -> list[str]:
    """Return the first and last epoch of each phase as a table."""
    if history is None or not len(history) or "epoch" not in history:
        return []
    rows = []
    phases = history.groupby("phase", sort=False) if "phase" in history else [("", history)]
    for phase, part in phases:
        for _, row in part.iloc[[0, -1] if len(part) > 1 else [0]].iterrows():
            values = [row.get(name) for name in ("loss", "validation_loss", "validation_score")]
            texts = ["" if value is None or value != value else f"{value:.3f}" for value in values]
            rows.append([str(phase), f"{int(row['epoch'])}", *texts])
    header = ["phase", "epoch", "loss", "validation loss", "validation score"]
    return [table(header, rows, [1, 2, 3, 4])]
