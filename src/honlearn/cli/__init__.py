"""The command line: a thin projection of the library, rightmost in the flow.

Commands import what they need when they run, so that ``honlearn --help`` is instant. An error that honlearn
raises on purpose is one line on standard error and exit code 2; ``--debug`` shows the traceback. Ctrl-C and
SIGTERM are one line, too, with exit codes 130 and 143.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TextIO

import typer

from honlearn import __version__
from honlearn.cli import stopping
from honlearn.cli.convert import convert
from honlearn.cli.data import data_app
from honlearn.cli.demo import demo
from honlearn.cli.evaluate import evaluate
from honlearn.cli.explain import explain
from honlearn.cli.grow import grow
from honlearn.cli.info import info
from honlearn.cli.learn import learn
from honlearn.cli.next import next_steps
from honlearn.cli.outputs import keeping_inputs
from honlearn.cli.predict import predict
from honlearn.cli.report import report
from honlearn.cli.reproduce import reproduce
from honlearn.cli.score import score
from honlearn.cli.settings import remember_command, spread_settings
from honlearn.cli.train import train
from honlearn.errors import DamageWarning, HonlearnError
from honlearn.interrupts import ending_on_sigterm

app = typer.Typer(
    name="honlearn",
    help="Learn from observed paths: higher-order networks and deep graph ensembles.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"honlearn {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn from observed paths: higher-order networks and deep graph ensembles."""


for command in (
    learn,
    demo,
    grow,
    info,
    convert,
    train,
    predict,
    explain,
    score,
    evaluate,
    reproduce,
    report,
):
    app.command()(keeping_inputs(command))
app.command("next")(keeping_inputs(next_steps))
app.add_typer(data_app, name="data")


def _said(error: Exception) -> str:
    """Return the message of an error; the system's begins with a number that helps nobody."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: cannot be read or written: {error.strerror}"
    return str(error)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    remember_command(words)
    debug = "--debug" in words
    words = spread_settings([word for word in words if word != "--debug"])
    stopping.forget()
    try:
        with ending_on_sigterm(), _warnings_as_lines():
            app(words, prog_name="honlearn")
    except (HonlearnError, OSError) as error:
        if debug:
            raise
        print(f"honlearn: {_said(error)}", file=sys.stderr)
        raise SystemExit(2) from None
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
        if issubclass(category, DamageWarning):
            print(f"honlearn: warning: {message}", file=sys.stderr)
        else:
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
