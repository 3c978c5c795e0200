"""What :func:`honlearn.learn` returns: everything that was found, and how it shows and saves itself.

In: the parts. Out: one immutable value. In a notebook it shows its headline and the first predictions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.pipeline.entities import EntityPredictions
from honlearn.pipeline.reading import ReadSummary
from honlearn.pipeline.validation import Validation
from honlearn.pipeline.words import Memories
from honlearn.writing.atomic import atomic_text

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of :func:`honlearn.learn`.

    Parameters
    ----------
    headline
        Whether memory matters, in one sentence.
    summary
        The closing paragraph, in plain words.
    reading
        What was read.
    paths, counts
        The observed paths, and how often grams were seen in them.
    network
        The higher-order network: the one that the model has chosen, or without labels the one of
        significant contexts.
    memories
        How many contexts are significant.
    model
        The fitted classifier, or without labels the link predictor; None where the network has no pairs
        to learn links from.
    entities
        Predictions for every entity; None without labels.
    validation
        Scores on unseen nodes; None without labels.
    tables
        Other tables by name: without labels ``memory`` (bits per step by order), ``links`` (to
        expect) and ``communities`` (where infomap is installed).
    html
        The page.
    """

    headline: str
    summary: str
    reading: ReadSummary
    paths: Paths
    counts: GramCounts
    network: HigherOrderNetwork
    memories: Memories
    model: Any
    entities: EntityPredictions | None
    validation: Validation | None
    tables: Mapping[str, pandas.DataFrame] = field(default_factory=dict)
    html: str = ""

    @property
    def predictions(self) -> pandas.DataFrame:
        """One row for each entity, those without a label first; without labels the links to expect."""
        if self.entities is not None:
            return self.entities.table()
        return self.tables["links"]

    def plot(self) -> Figure:
        """Return the score of each fold with and without memory; without labels, bits per step by order."""
        from honlearn.pipeline.figures import plot_orders, plot_validation

        if self.validation is not None:
            return plot_validation(self.validation, self.headline)
        return plot_orders(self.tables["memory"], self.headline)

    def save(self, folder: str | os.PathLike[str], *, with_model: bool = True) -> Path:
        """Write predictions, model, network, tables and page to a folder, and return it.

        Parameters
        ----------
        folder
            Where the files go; it is made if it is not there.
        with_model
            Whether the model is written, too.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        self.save_tables(target)
        self.network.save(target / "network.hon")
        if with_model and self.model is not None:
            self.model.save(target / "model")
        if self.html:
            with atomic_text(target / "report.html") as file:
                file.write(self.html)
        return target

    def save_tables(self, folder: Path) -> None:
        """Write the tables as CSV files.

        Parameters
        ----------
        folder
            A folder that is there.
        """
        frames = dict(self.tables)
        if self.entities is not None:
            frames["predictions"] = self.entities.table()
        for name, frame in frames.items():
            with atomic_text(folder / f"{name}.csv") as file:
                file.write(frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))

    def __repr__(self) -> str:
        return f"Learned({self.headline!r})"

    def __str__(self) -> str:
        return f"{self.headline}\n{self.summary}"

    def _repr_html_(self) -> str:
        from html import escape

        from honlearn.paths.html import card, table

        shown = self.predictions.head(_SHOWN)
        wanted = [
            name
            for name in ("node", "known_label", "label", "confidence", "set", "reasons")
            if name in shown.columns
        ] or list(shown.columns[:6])
        rows = [
            ["" if value is None or value != value else value for value in row]
            for row in shown[wanted].itertuples(index=False)
        ]
        facts = {
            "paths": f"{self.reading.paths:,}",
            "entities": f"{self.reading.entities:,}",
            "nodes": f"{self.network.n_nodes:,}",
        }
        return card(self.headline, facts, f"<p>{escape(self.summary)}</p>", table(wanted, rows, []))
