"""``--help``: options in groups, an example below, no type beside a flag; usage errors in one line.

In: a command as Typer makes it. Out: the same, with a panel for every option by its name. An option that
names a panel itself keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from honlearn.errors import ParameterError

_PANELS = {
    "Input": "data source settings labels label_column node_column paths nodes pairs node counts update "
    "after after_file anywhere",
    "Output": "output parts as_json title top force",
    "Model": "model set_ task order tau min_support alpha auto input label on_unknown max_fdr walks",
    "Validation": "folds first_folds folds_file seeds repetitions test_share undirected negatives protocol "
    "ranking split_at keep_isolated predictions artefacts",
    "Run": "seed jobs executor workers memory dry_run quick yes minutes trials space version debug help",
}
PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names.split()}
OTHER = "Other options"
"""The panel of an option that no other has; there should be none."""

EXAMPLES = {
    "learn": "honlearn learn clicks.csv labels.csv -o out",
    "demo": "honlearn demo",
    "grow": "honlearn grow events.csv -o net.hon --sequence user --order-by time --entity page",
    "info": "honlearn info net.hon labels.csv --top 5",
    "convert": "honlearn convert net.hon net.graphml",
    "train": "honlearn train net.hon labels.csv -o model",
    "predict": "honlearn predict model --nodes LGA,ORD --alpha 0.1 -o predictions.csv",
    "explain": "honlearn explain model LGA",
    "score": "honlearn score paths.txt new.txt -o scores.csv",
    "evaluate": "honlearn evaluate net.hon labels.csv -o run --model dge-bag --model gcn --input both",
    "reproduce": "honlearn reproduce table-2 -o run --data wiki --dry-run",
    "report": "honlearn report run -o report.html",
    "next": 'honlearn next paths.txt --after "ORF LGA"',
    "data list": "honlearn data list",
    "data get": "honlearn data get us_flights -o flights",
}


# UsageError, which Typer keeps to itself: what BadParameter is derived from.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


class _Arranged:
    """What commands and groups have in common: every option in its panel, no type beside a flag."""

    params: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in self.params:
            _arrange(option)

    def get_help_option(self, ctx: Any) -> Any:
        """Return ``--help`` itself, arranged as the others."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        _arrange(option)
        return option


# What the library that checks values writes of one, and what it means.
_PLAINER = {
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
    "Input should be greater than or equal to": "must be at least",
    "Input should be less than or equal to": "must be at most",
    "Input should be greater than": "must be greater than",
    "Input should be less than": "must be less than",
}


class GroupedCommand(_Arranged, TyperCommand):
    """A command whose options are shown in groups."""


class GroupedCommands(_Arranged, TyperGroup):
    """A group of commands whose usage errors are ours."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Return the context of the words; raise a ParameterError for those that do not fit."""
        with _one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the words name; raise a ParameterError for those that do not fit."""
        with _one_line():
            return super().invoke(ctx)


@contextmanager
def _one_line() -> Iterator[None]:
    """Raise a usage error of the parser as ours, which is one line and not a box of five."""
    try:
        yield
    except _USAGE_ERROR as error:
        ctx = getattr(error, "ctx", None)
        if ctx is None or type(error).__name__ == "NoArgsIsHelpError":
            raise
        told = " ".join(str(error.format_message()).split()).rstrip(".")
        for theirs, ours in _PLAINER.items():
            told = told.replace(theirs, ours)
        told = f"{told[:1].lower()}{told[1:]}".replace(". Did you mean", "; did you mean")
        words = "extra argument" in told or told.startswith("missing")
        example = EXAMPLES.get(ctx.command_path.partition(" ")[2]) if words else None
        shown = "" if example is None else f"; an example: {example}"
        raise ParameterError(f"{told}{shown}; see '{ctx.command_path} --help'") from None


def _arrange(option: Any) -> None:
    """Give an option its panel, and leave out the type of a flag."""
    if not isinstance(option, TyperOption):
        return
    if option.rich_help_panel is None:
        option.rich_help_panel = PANEL_OF.get(option.name or "", OTHER)
    if option.is_flag:
        option.metavar = ""


def epilog(command: str) -> str | None:
    """Return the example of a command, as it stands below its options."""
    return f"Example: {EXAMPLES[command]}" if command in EXAMPLES else None
