"""The paper's figures: what its tables print, by table, model, input and data set.

In: ``data/published.csv`` of this package, one number per line, copied by hand from Tables 1, 2, 3, 5, 6, 7
and 8. Out: values with their deviations. Models have our names (``dge-bag*``); the paper's G1 is ``g1``, its
G2, and what it feeds with both, is ``gk``.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

# The folds or repetitions behind each published mean.
REPETITIONS = 5

DATA = {"air": "Air", "t2d": "T2D", "wiki": "Wiki", "mag": "Mag", "mag+": "Mag+", "ship": "Ship"}

MODELS = {
    "gcn": "GCN",
    "gcnii": "GCNII",
    "gat": "GAT",
    "gatv2": "GATv2",
    "graphsage": "GraphSAGE",
    "gin": "GIN",
    "graphsaint": "GraphSAINT",
    "pathgcn": "PathGCN",
    "seal": "SEAL",
    "honem": "HONEM",
    "ho-gnn": "HO-GNN",
    "dge-concat": "DGE-concat",
    "dge-concat*": "DGE-concat*",
    "dge-pool": "DGE-pool",
    "dge-pool*": "DGE-pool*",
    "dge-bag": "DGE-bag",
    "dge-bag*": "DGE-bag*",
    "dge-batch": "DGE-batch*",
    "dge-attn": "DGE-attn",
}


@dataclass(frozen=True)
class Cell:
    """One printed number: where it stands, its value, and its deviation where one is printed."""

    table: str
    model: str
    input: str
    layers: int | None
    data: str
    column: str
    value: float
    deviation: float | None

    @property
    def row(self) -> tuple[str, str, int | None]:
        """What names its row: model, input and number of layers."""
        return self.model, self.input, self.layers


@lru_cache(maxsize=1)
def _cells() -> tuple[Cell, ...]:
    text = files("honlearn.experiments").joinpath("data", "published.csv").read_text("utf-8")
    found = []
    for line in csv.DictReader(text.splitlines()):
        layers, spread = line["layers"], line["deviation"]
        found.append(
            Cell(
                line["table"],
                line["model"],
                line["input"],
                int(layers) if layers else None,
                line["data"],
                line["column"],
                float(line["value"]),
                float(spread) if spread else None,
            )
        )
    return tuple(found)


def published(table: str, data: str | None = None) -> list[Cell]:
    """Return the cells of a table (``"table-2"``), of one data set or of all, in printed order.

    >>> [cell.value for cell in published("table-2", "wiki") if cell.model == "dge-bag"]
    [0.681]
    """
    return [cell for cell in _cells() if cell.table == table and data in (None, cell.data)]


def find(
    table: str, data: str | None, column: str, model: str = "", input: str = "", layers: int | None = None
) -> Cell | None:
    """Return one printed number, or None where the paper has none."""
    for cell in published(table):
        if (cell.data, cell.column, *cell.row) == (data, column, model, input, layers):
            return cell
    return None


def model_label(name: str) -> str:
    """Return a model's name as the paper writes it, or would.

    >>> model_label("dge-batch"), model_label("dge-attn*"), model_label("dbgnn")
    ('DGE-batch*', 'DGE-attn*', 'dbgnn')
    """
    return MODELS.get(name, name.replace("dge-", "DGE-"))
