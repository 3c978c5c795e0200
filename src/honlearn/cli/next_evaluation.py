"""``honlearn evaluate PATHS -o RUN --task next``: models of the next step, compared on held-out paths.

In: what the command was given. Out: a run folder with one record for each model, order and fold, and a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from honlearn.cli.links import Execution

if TYPE_CHECKING:
    from honlearn.experiments.next_steps import NextData

COLUMNS = {
    "bits": ("bits", 3),
    "top-1": ("top1", 3),
    "top-5": ("top5", 3),
    "MRR": ("mrr", 3),
    "in sets of 90 %": ("coverage_90", 3),
    "set size": ("set_size_90", 1),
    "fit s": ("fit_seconds", 1),
    "CPU s": ("fit_cpu_seconds", 1),
}
SHOWN = {"bits": "bits", "top1": "top-1"}

SplitAt = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Next and links: train on paths that began before it, test on the others, or on links that "
        "first appear in them; a number, a day or a time of --order-by.",
    ),
]


def refuse_options_of_files(folder: Path, reading: Mapping[str, Any], moment: str | None) -> None:
    """Raise where options that only files of paths have are given for a data set's folder."""
    from honlearn.errors import ParameterError

    if reading or moment is not None:
        raise ParameterError(
            f"{folder} is a data set's folder, read by its own rules and without times; give files of paths "
            "for --split-at and options of reading"
        )


class Division(NamedTuple):
    """How paths are read and divided: the options of the reader, folds by path, or a moment."""

    reading: Mapping[str, Any]
    folds: str | None
    moment: str | None
    seed: int

    def data(self, paths: Path) -> NextData:
        """Return the paths of a file, pattern or data set's folder with their division."""
        from honlearn.cli.evaluate import number_of_folds
        from honlearn.errors import ParameterError
        from honlearn.experiments.next_steps import NextData

        if self.folds is not None and self.moment is not None:
            raise ParameterError(f"--folds {self.folds} and --split-at {self.moment}: give one of the two")
        folds = number_of_folds(self.folds)
        if paths.is_dir():
            refuse_options_of_files(paths, self.reading, self.moment)
            from honlearn.datasets import load_folder

            return NextData.by_path(load_folder(paths).paths, folds, self.seed)
        if self.moment is not None:
            from honlearn.paths.timed import read_timed

            whole, early = read_timed(str(paths), self.moment, **self.reading)
            return NextData.by_time(whole, early, self.moment, self.seed)
        from honlearn.paths.source import read_paths

        return NextData.by_path(read_paths(str(paths), **self.reading), folds, self.seed)


def evaluate_on_next_steps(
    paths: Path, output: Path, models: list[str], order: int, division: Division, how: Execution
) -> None:
    """Divide the paths, ask every model about the steps held out, and print a table."""
    from honlearn.cli.run_tables import origin, print_run, run_jobs, show_plan, tell_of_others
    from honlearn.cli.stopping import run_folder
    from honlearn.experiments import next_steps as engine
    from honlearn.experiments.next_models import find_next_model
    from honlearn.results.summary import write_summary

    for name in models:
        find_next_model(name)  # what is known to fail raises before a long reading
    data = division.data(paths)
    jobs = engine.plan_next(data, models, order)
    if how.dry_run:
        names = {job.configuration.input for job in jobs}
        show_plan(jobs, output, dict.fromkeys(names, len(data.paths.codes)), how.width)
        return
    with run_folder(output):
        tell_of_others(output, jobs)
        rows = run_jobs(engine.evaluate_next, data, jobs, output, how, engine.SCORES, SHOWN)
        about: dict[str, Any] = {"paths": str(paths), "task": "next", "folds": data.division}
        about |= origin()
        if how.artefacts and order > 1:
            about["sentence"] = engine.keep_memory(data, order, output).sentence
        write_summary(output, rows, about)
    print_run(output, about, rows, COLUMNS, how.as_json, f"look at it: honlearn report {output}")
    if "sentence" in about and not how.as_json:
        typer.echo(about["sentence"])
