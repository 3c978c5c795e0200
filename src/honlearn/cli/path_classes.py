"""``honlearn train PATHS LABELS --task paths`` and ``honlearn predict MODEL --paths NEW``: whole paths.

In: path data, and a CSV with the id of a path in its first column and its class in another. Out: a model
folder, which also holds how the paths were read, so that new ones are read alike; a table of predictions. Ids
are those of :mod:`honlearn.paths.labelled`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas

    from honlearn.experiments.path_classes import PathData

_WHOLE = ("order", "min_support", "vectors", "n_folds", "max_grams")


def train_paths(
    source: Path,
    labels: Path | None,
    output: Path,
    columns: tuple[str | None, str | None],
    set_: list[str] | None,
    seed: int,
    reading: Mapping[str, Any],
) -> dict[str, Any]:
    """Fit a classifier of paths, save it to `output`, and return what is worth telling."""
    import time

    from honlearn.pipeline.model_folder import save_in_folder
    from honlearn.tasks.path_classifier import PathClassifier

    model = PathClassifier(**path_settings(set_ or []), random_state=seed)
    model.check()
    data, notes = labelled_paths(source, labels, columns, reading)
    for note in notes:
        typer.echo(note, err=True)
    started = time.perf_counter()
    model.fit(data.paths, list(data.labels))
    model.reading_ = dict(reading)
    save_in_folder(model, output)
    return {
        "model": str(output),
        "name": "PathClassifier",
        "paths": len(data.ids),
        "unlabelled": data.unlabelled,
        "classes": len(model.classes_),
        "grams": model.grams_.n_columns,
        "C": model.C_,
        "seconds": round(time.perf_counter() - started, 2),
    }


def labelled_paths(
    source: Path, labels: Path | None, columns: tuple[str | None, str | None], reading: Mapping[str, Any]
) -> tuple[PathData, list[str]]:
    """Return the paths that have a class, with their ids, and notes on labels of no path."""
    from honlearn.errors import InputError, ParameterError, listed
    from honlearn.experiments.path_classes import PathData
    from honlearn.labels import read_labels
    from honlearn.paths.labelled import read_labelled

    if labels is None:
        raise ParameterError(
            "--task paths needs LABELS after PATHS: a CSV with the id of a path and its class"
        )
    known = dict(zip(*read_labels(labels, *columns), strict=True))
    paths, ids = read_labelled(str(source), **reading)
    rows = [row for row, name in enumerate(ids) if name in known]
    if not rows:
        raise InputError(
            f"{labels}: none of its ids is one of the {len(ids):,} paths; paths are called {listed(ids, 3)}, "
            f"labels are of {listed(known, 3)}"
        )
    there = set(ids)
    missing = [name for name in known if name not in there]
    notes = []
    if missing:
        notes.append(f"note: {len(missing):,} labels are of no path and left out: {listed(missing, 5)}")
    own = [ids[row] for row in rows]
    data = PathData(paths.take(rows), own, [known[name] for name in own], len(ids) - len(rows))
    return data, notes


def predict_paths(model: Any, source: str | None, alpha: float | None = None) -> pandas.DataFrame:
    """Return path, label, one column ``p_<class>`` per class, confidence and entropy of a file's paths.

    With `alpha` there are also ``set``, ``set_size`` and ``abstain``.
    """
    import pandas as pd

    from honlearn.errors import ParameterError
    from honlearn.experiments.predictions import Predictions
    from honlearn.paths.labelled import read_labelled

    if source is None:
        raise ParameterError("a model of paths; name the paths to classify with --paths")
    paths, ids = read_labelled(source, **model.reading_)
    proba = model.predict_proba(paths)
    values = None if alpha is None else model.calibration_.p_values(proba, class_conditional=False)
    table = Predictions(ids, model.classes_, proba, None, values).table(alpha)
    return pd.DataFrame(table.rename(columns={"node": "path"}))


def path_settings(words: list[str]) -> dict[str, Any]:
    """Return the keywords of the classifier that ``--set`` gives."""
    from honlearn.errors import ParameterError, did_you_mean, listed

    found: dict[str, Any] = {}
    known = (*_WHOLE, "C")
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in known:
            raise ParameterError(
                f"--set {word}: not a keyword of a classifier of paths{did_you_mean(key, known)}; there are "
                f"{listed(known)}, as in --set order=1"
            )
        try:
            found[key] = int(value) if key in _WHOLE else value if value == "auto" else float(value)
        except ValueError:
            what = "a whole number" if key in _WHOLE else "auto or a number"
            raise ParameterError(f"--set {word}: {key} is {what}. Got {value!r} instead.") from None
    return found
