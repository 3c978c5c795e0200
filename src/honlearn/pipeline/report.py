"""``report``: a page of whatever there is: a run, a folder of ``learn``, a model, or a result in memory.

In: a folder or a value. Out: one HTML file. A run is only read, without what models need; a model predicts
every entity first (:mod:`honlearn.pipeline.model_report`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from honlearn.conformal import check_alpha
from honlearn.errors import InputError
from honlearn.reporting.build import check_target, write_report
from honlearn.results.records import FILE
from honlearn.writing.atomic import atomic_text

Facts = Mapping[str, Mapping[str, Any]]
Step = Callable[[str], None]
_CONFIG = "config.json"


def report(
    source: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    labels: Any = None,
    nodes: Facts | None = None,
    title: str | None = None,
    alpha: float = 0.1,
    step: Step | None = None,
) -> Path:
    """Write one self-contained page and return its path.

    Parameters
    ----------
    source
        A run folder (``honlearn evaluate -o RUN``), a folder of ``honlearn learn``, a model folder or
        a fitted :class:`honlearn.DGEClassifier` or :class:`honlearn.DGELinkPredictor`, or what
        :func:`honlearn.learn` and :func:`honlearn.evaluate` return.
    path
        The file to write.
    labels
        Of a model: known classes of nodes, as for :func:`honlearn.learn`; they are shown beside the
        predictions.
    nodes
        More about nodes: name → column → value; columns latitude and longitude put them on a map.
    title
        Title of the page.
    alpha
        Of a model: how often a prediction set may lack the true class.
    step
        Called with the name of each part as it begins.
    """
    check_alpha("report", alpha)
    target = check_target(path)
    if isinstance(source, (str, os.PathLike)) and not is_model_folder(source):
        if labels is not None:
            raise InputError(
                f"{source}: labels are for the page of a model; a run has those it was made with"
            )
        return write_report(source, target, facts=nodes, title=title, step=step)
    html = getattr(source, "html", None)  # what learn and evaluate return has its page
    if html is None:
        from honlearn.pipeline.model_report import model_html

        html = model_html(source, labels=labels, nodes=nodes, title=title, alpha=alpha, step=step)
    with atomic_text(target) as file:
        file.write(html)
    return target


def is_model_folder(source: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds a model, and no run."""
    folder = Path(source).expanduser()
    return (folder / _CONFIG).is_file() and not (folder / FILE).is_file()
