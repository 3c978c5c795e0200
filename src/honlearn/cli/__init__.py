"""The command line: a thin projection of the library, rightmost in the flow.

In: the words that were typed. Out: what a command prints and writes, and an exit code. A command is imported
when it is asked for, and what it needs when it runs, so that ``honlearn --help`` and an error in the words
are instant. An error that honlearn raises on purpose is one line on standard error and exit code 2;
``--debug`` shows the traceback. Ctrl-C and SIGTERM are one line, too, with exit codes 130 and 143.
"""

from __future__ import annotations

import gc
import importlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from honlearn import __version__
from honlearn.cli import stopping
from honlearn.cli.help import GroupedCommand, GroupedCommands, epilog
from honlearn.cli.importing import leaving_at_once
from honlearn.cli.outputs import keeping_inputs
from honlearn.cli.typed import remember_command, spread_settings
from honlearn.deferred import defer
from honlearn.errors import DamageWarning, HonlearnError
from honlearn.interrupts import ending_on_sigterm

# What a command is called, in the order of --help, and the function in the module behind it.
_COMMANDS = {
    "learn": "learn:learn",
    "demo": "demo:demo",
    "grow": "grow:grow",
    "info": "info:info",
    "convert": "convert:convert",
    "train": "train:train",
    "predict": "predict:predict",
    "explain": "explain:explain",
    "score": "score:score",
    "evaluate": "evaluate:evaluate",
    "reproduce": "reproduce:reproduce",
    "report": "report:report",
    "next": "next:next_steps",
    "data": "data:data_app",
}
_PACKAGE = Path(__file__).parent.parent
# Imported by others at their start, used by few commands or none.
_DEFERRED = (
    "numpy.f2py",  # scipy and scikit-learn list all that NumPy has
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "yaml",  # numba's, for a file of settings that hardly anyone has
)
# Objects that are made before the collector looks for cycles: imports make many, and no cycles to free.
_COLLECT_AFTER = 50_000


def make_app(names: Iterable[str] = _COMMANDS) -> typer.Typer:
    """Return the command line with these commands."""
    app = typer.Typer(
        name="honlearn",
        cls=GroupedCommands,
        help="Learn from observed paths: higher-order networks and deep graph ensembles.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(common)
    for name in names:
        module, _, command = _COMMANDS[name].partition(":")
        made = getattr(importlib.import_module(f"honlearn.cli.{module}"), command)
        if isinstance(made, typer.Typer):
            app.add_typer(made, name=name)
        else:
            app.command(name, cls=GroupedCommand, epilog=epilog(name))(keeping_inputs(made))
    return app


def __getattr__(name: str) -> Any:
    if name == "app":
        return make_app()
    raise AttributeError(f"module 'honlearn.cli' has no attribute {name!r}")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"honlearn {__version__}")
        raise typer.Exit


def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn from observed paths: higher-order networks and deep graph ensembles."""


def _said(error: Exception) -> str:
    """Return the message of an error; the system's begins with a number that helps nobody."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: cannot be read or written: {error.strerror}"
    return str(error)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit; without `arguments`, as the program, those of the process."""
    if arguments is None:
        with leaving_at_once():
            main(sys.argv[1:])
        return
    gc.set_threshold(_COLLECT_AFTER)
    defer(*_DEFERRED)
    words = list(arguments)
    remember_command(words)
    debug = "--debug" in words
    words = spread_settings([word for word in words if word != "--debug"])
    stopping.forget()
    try:
        with ending_on_sigterm(), _warnings_as_lines():
            # One command is quicker to make than all; a word that is none is answered with all of them.
            asked = words[:1] if words and words[0] in _COMMANDS else _COMMANDS
            make_app(asked)(words, prog_name="honlearn")
    except (HonlearnError, OSError) as error:
        if debug:
            raise
        print(f"honlearn: {_said(error)}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        # While commands are imported; from then on Typer has it.
        print(f"honlearn: {stopping.line(stopping.INTERRUPTED)}", file=sys.stderr)
        raise SystemExit(stopping.INTERRUPTED) from None
    except SystemExit as exit:
        # Typer turns an interrupt into a code, without a word.
        if (line := stopping.line(exit.code)) is not None:
            print(f"honlearn: {line}", file=sys.stderr)
        raise


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print our own warnings as one line each; whatever else warns does it as before."""
    before = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        ours = category is UserWarning and Path(filename).is_relative_to(_PACKAGE)
        if ours or issubclass(category, DamageWarning):
            print(f"honlearn: warning: {message}", file=sys.stderr)
        else:
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
