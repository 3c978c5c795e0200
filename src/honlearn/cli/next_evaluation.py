"""``honlearn evaluate PATHS -o RUN --task next``: models of the next step, compared on held-out paths.

In: what the command was given. Out: a run folder with one record for each model, order and fold, and a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from honlearn.cli import settings as words
from honlearn.cli.links import Execution

COLUMNS = {
    "bits": ("bits", 3),
    "top-1": ("top1", 3),
    "top-5": ("top5", 3),
    "MRR": ("mrr", 3),
    "fit s": ("fit_seconds", 1),
    "CPU s": ("fit_cpu_seconds", 1),
}
SHOWN = {"bits": "bits", "top1": "top-1"}


def evaluate_on_next_steps(
    paths: Path, output: Path, models: list[str], order: int, folds: str | None, seed: int, how: Execution
) -> None:
    """Divide the paths, ask every model about the steps held out, and print a table."""
    from honlearn.cli.evaluate import print_run, reported, show_plan, tell_of_others
    from honlearn.cli.stopping import run_folder
    from honlearn.cli.watch import reporter
    from honlearn.errors import ParameterError
    from honlearn.experiments import next_steps as engine
    from honlearn.experiments.machine import machine
    from honlearn.paths.source import read_paths
    from honlearn.results.summary import summarise, write_summary

    if folds is not None and not folds.isdecimal():
        raise ParameterError(f"--folds must be a whole number, at least 2. Got {folds!r} instead.")
    if paths.is_dir():
        from honlearn.datasets import load_folder

        whole = load_folder(paths).paths
    else:
        whole = read_paths(str(paths))
    data = engine.NextData(whole, int(folds or 5), seed)
    jobs = engine.plan_next(data, models, order)
    if how.dry_run:
        names = {job.configuration.input for job in jobs}
        show_plan(jobs, output, dict.fromkeys(names, len(whole.codes)), how.jobs)
        return
    with run_folder(output):
        tell_of_others(output, jobs)
        with reporter(len(jobs), "fold", SHOWN) as report:
            done = engine.evaluate_next(data, jobs, output, processes=how.jobs, watch=report)
            rows = summarise(reported(done, jobs, report), engine.SCORES)
        about: dict[str, Any] = {"paths": str(paths), "task": "next", "folds": f"{data.folds} by path"}
        about |= {"command": words.command_line(), "machine": machine()}
        write_summary(output, rows, about)
    print_run(output, about, rows, COLUMNS, how.as_json, "scores by position are in summary.json")
