"""``honlearn evaluate PATHS OUTCOMES -o RUN --task paths``: models of the class of whole paths, compared.

In: what the command was given. Out: a run folder with one record for each model, seed and fold, and a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from honlearn.cli.links import Execution

COLUMNS = {
    "log loss": ("log_loss", 3),
    "AUROC": ("auroc", 3),
    "micro F1": ("micro_f1", 3),
    "macro F1": ("macro_f1", 3),
    "ECE": ("ece", 3),
    "ECE of noise": ("ece_of_noise", 3),
    "in sets of 90 %": ("coverage_90", 3),
    "set size": ("set_size_90", 2),
    "fit s": ("fit_seconds", 1),
    "CPU s": ("fit_cpu_seconds", 1),
}
SHOWN = {"log_loss": "log loss", "micro_f1": "micro F1"}


def evaluate_on_paths(
    source: Path,
    labels: Path | None,
    output: Path,
    models: Sequence[str],
    given: Mapping[str, Any],
    how: Execution,
) -> None:
    """Divide the paths into stratified folds, train and test every model, and print a table.

    `given` has the options ``set``, ``folds``, ``seeds``, ``columns`` (of classes and ids) and ``reading``.
    """
    from honlearn.cli.evaluate import number_of_folds, rare_note
    from honlearn.cli.path_classes import labelled_paths, path_settings
    from honlearn.cli.run_tables import origin, print_run, run_jobs, show_plan, tell_of_others
    from honlearn.cli.stopping import run_folder
    from honlearn.errors import ParameterError
    from honlearn.experiments import path_classes as engine
    from honlearn.experiments.path_models import SETTABLE, find_path_model, parameters_of
    from honlearn.results.summary import write_summary

    names = [find_path_model(name) for name in models]
    settings = path_settings(given["set"] or [])
    if settings and not set(names) & set(SETTABLE):
        raise ParameterError(f"--set is for {' and '.join(SETTABLE)}; none of them is among the models")
    for name in set(names) & set(SETTABLE):
        parameters_of(name, settings)  # what is known to fail raises before a long reading
    folds = number_of_folds(given["folds"])
    data, notes = labelled_paths(source, labels, given["columns"], given["reading"])
    notes += rare_note(data.labels, folds)
    jobs = engine.plan_paths(data, names, folds, given["seeds"], settings)
    for note in notes:
        typer.echo(note, err=True)
    if how.dry_run:
        show_plan(jobs, output, {"paths": len(data.paths.codes)}, how.width)
        return
    with run_folder(output):
        tell_of_others(output, jobs)
        rows = run_jobs(
            engine.evaluate_paths,
            data,
            jobs,
            output,
            how,
            engine.SCORES,
            SHOWN,
            keep_artefacts=how.artefacts,
        )
        about: dict[str, Any] = {"paths": str(source), "labels": str(labels), "task": "paths", "notes": notes}
        about |= {"labelled": len(data.ids), **origin()}
        write_summary(output, rows, about)
    print_run(output, about, rows, COLUMNS, how.as_json, f"look at it: honlearn report {output}")
