"""``honlearn train PATHS LABELS -o MODEL --auto``: the network is chosen, from path data, for the task.

In: words for how paths are read and which parameters are fixed. Out: counts of grams in place of a
network, settings of the model, and after the fit the table of the networks that were tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from honlearn.experiments.registry import Entry
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork

_PANEL = "The network of paths"
# Candidates that are printed.
_MOST_TRIED = 12


def _option(name: str, text: str, metavar: str) -> Any:
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


Auto = Annotated[
    bool,
    typer.Option(
        "--auto",
        rich_help_panel=_PANEL,
        help="Of paths: the network that predicts best is chosen, instead of one by --order and evidence.",
    ),
]
Order = Annotated[
    int | None,
    _option(
        "--order",
        "Of paths: highest order of the network (2); with --auto, how far back to look at most (3).",
        "K",
    ),
]
Tau = Annotated[
    float | None,
    _option(
        "--tau", "Of paths: GrowHON's rule with this tau; with --auto, this tau instead of the best.", "T"
    ),
]
MinSupport = Annotated[
    int | None,
    _option("--min-support", "Of paths: this least support; with --auto, instead of the best.", "M"),
]


@dataclass(frozen=True)
class Choice:
    """The options for choosing a network: whether, how far back, what is fixed, how to read."""

    wanted: bool = False
    order: int | None = None
    tau: float | None = None
    min_support: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    def check(self, entry: Entry, source: Path, grown: bool = False) -> None:
        """Raise before anything long is done where the words do not go together.

        `grown`: without --auto, a network is grown from `source` by the rule of the options.
        """
        from honlearn.cli.kinds import NETWORKS_ALONE
        from honlearn.errors import InputError, ParameterError, check_integer, check_real, listed

        fixed = {"order": self.order, "tau": self.tau, "min_support": self.min_support}
        given = [name for name, value in fixed.items() if value is not None] + list(self.reading)
        if not self.wanted and not grown:
            if given:
                options = listed(f"--{name.replace('_', '-')}" for name in given)
                raise ParameterError(
                    f"{options}: for paths, which a network is grown from; {source} is a network"
                )
            return
        if self.wanted and not entry.chooses_network:
            raise ParameterError(
                f"--auto: {entry.name} cannot choose its network; take a dge model, or grow a network first "
                "with 'honlearn grow' and leave --auto out"
            )
        if source.suffix.lower() in NETWORKS_ALONE:
            raise InputError(
                f"{source}: --auto takes the paths that networks are grown from, and this is a network; "
                "name the paths, or leave --auto out"
            )
        owner = "train --auto" if self.wanted else "train"
        if self.order is not None:
            check_integer(owner, "order", self.order, 1)
        if self.tau is not None:
            check_real(owner, "tau", self.tau, 0)
        if self.min_support is not None:
            check_integer(owner, "min_support", self.min_support, 1)

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the model with the parameters that are fixed here for its choice."""
        from honlearn.errors import ParameterError
        from honlearn.hon.build import DEFAULT_MAX_ORDER

        if not self.wanted:
            return dict(given)

        order, longest = given.get("order"), DEFAULT_MAX_ORDER if self.order is None else self.order
        if isinstance(order, int) and order > longest:
            raise ParameterError(
                f"--set order={order}: --auto looks {longest} back at most; add --order {order}"
            )
        fixed = {"tau": self.tau, "min_support": self.min_support}
        mine = {name: value for name, value in fixed.items() if value is not None}
        for name in mine:
            if name in given:
                raise ParameterError(f"--{name.replace('_', '-')} and --set {name}=: give one of the two")
        return {**given, **mine}

    def network(self, source: Path) -> HigherOrderNetwork | GramCounts:
        """Return what is trained on: of paths the counts to choose from, or the network grown from them."""
        from honlearn.cli.grown import DEFAULT_ORDER, counted, grown_from
        from honlearn.hon.build import DEFAULT_MAX_ORDER

        order = self.order or (DEFAULT_MAX_ORDER if self.wanted else DEFAULT_ORDER)
        counts = counted(source, order, self.reading)
        if self.wanted:
            return counts
        return grown_from(source, counts, order, self.tau, self.min_support)


def tried(estimator: Any) -> list[dict[str, Any]]:
    """Return all that a fit has tried, as plain rows; none where nothing was left to choose."""
    table = getattr(estimator, "selection_results_", None)
    if table is None:
        return []
    rows = table.to_dict("records")
    return [{key: None if value != value else value for key, value in row.items()} for row in rows]


def print_tried(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each candidate that was tried: those chosen, then the best others, 12 in all."""
    from rich import box
    from rich.table import Table

    from honlearn.cli.run_tables import print_whole

    if not rows:
        typer.echo("the paths and parameters leave one network, so there was nothing to choose")
        return
    table = Table(
        title="learners and networks tried", title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0)
    )
    columns = ("learner", "power", "order", "tau", "support", "nodes", "loss", "gain", "members", "share")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    shown = [row for row in rows if row["chosen"]]
    shown += [row for row in rows if not row["chosen"]][: max(_MOST_TRIED - len(shown), 0)]
    for row in shown:
        gain, error = row["gain"], row["standard_error"]
        known = gain is not None and error is not None
        table.add_row(
            row["learner"],
            "–" if row["edge_power"] is None else f"{row['edge_power']:g}",
            str(row["order"]),
            "–" if row["tau"] is None else f"{row['tau']:g}",
            "–" if row["order"] == 1 else str(row["min_support"]),
            f"{row['nodes']:,}",
            "–" if row["loss"] is None else f"{row['loss']:.3f}",
            f"{gain:.3f} ± {error:.3f}" if known else "–",
            str(row["members"]) if row["chosen"] else "–",
            f"{row['share']:.2f}" if row["chosen"] else "–",
        )
    print_whole(table)
    more = f"; {len(rows) - len(shown)} more were tried" if len(rows) > len(shown) else ""
    typer.echo(
        "loss: on what the learners held back; gain: how much less than the candidate without one, ± its "
        f"standard error; share: of the prediction, the rest is the path kernel's{more}"
    )
