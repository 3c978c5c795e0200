"""``write_report``: from a run folder to one HTML file.

In: a run that ``honlearn evaluate`` made, and perhaps a table of nodes. Out: the page, whole or not at all.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from honlearn import __version__
from honlearn.errors import InputError
from honlearn.reporting.model_page import ModelView, model_page
from honlearn.reporting.page import render
from honlearn.reporting.study import study_page
from honlearn.results.runs import Run, read_run
from honlearn.writing.atomic import atomic_text, check_writable


def write_report(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    title: str | None = None,
    step: Callable[[str], None] | None = None,
) -> Path:
    """Write the report of the run folder `run` to `path` and return the path.

    `facts` of nodes are added to those of the run: name → column → value; columns latitude and longitude put
    the network on a map. `step` is called with the name of each part as it begins.
    """
    target = check_target(path)
    html = build_report(read_run(run), facts=facts, title=title, step=step)
    with atomic_text(target) as file:
        file.write(html)
    return target


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return where a page is written; raise where it cannot be."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: is a folder; name a file such as {target / 'report.html'}")
    if not target.parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}; make it first")
    check_writable(target)
    return target


def build_report(
    run: Run,
    *,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    title: str | None = None,
    step: Callable[[str], None] | None = None,
) -> str:
    """Return the HTML of the latest study of a run; earlier ones are in its overview with their scores."""
    from honlearn.reporting.pack import plain
    from honlearn.reporting.scores import TASKS, model_scores, score_names, what_was_run

    report_step = step or (lambda part: None)
    latest, *others = run.studies
    name = title or run.folder.resolve().name
    found = study_page(latest, run.about, facts or {}, report_step)
    beside = [
        {
            "task": other.task,
            "task_name": TASKS[other.task],
            "about": what_was_run(other, {}),
            "scores": score_names(other),
            "models": plain(model_scores(other), 6),
        }
        for other in others
    ]
    report_step("page")
    return _rendered(found, beside, name)


def page_of(view: ModelView, title: str) -> str:
    """Return the HTML of a model alone."""
    return _rendered(model_page(view), [], title)


def _rendered(study: Mapping[str, Any], others: Sequence[Mapping[str, Any]], title: str) -> str:
    made = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    content = {"title": title, "version": __version__, "made": made, "study": study, "others": others}
    return render(content, title)
