"""Which baselines there are: name, task, and the class behind it, imported on use.

In: nothing. Out: rows for the registry of models, and the classes that a saved folder may name.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Listed:
    """One baseline for one task; `home` is ``"module:class"``."""

    name: str
    task: str
    home: str
    description: str

    def estimator(self) -> type:
        """Return the class, imported now."""
        module, _, name = self.home.partition(":")
        made: type = getattr(importlib.import_module(f"honlearn.baselines.{module}"), name)
        return made


_DESCRIPTIONS = {
    "gcn": "graph convolutional network (Kipf & Welling 2017)",
    "gcnii": "deep graph convolutions with initial residual and identity mapping (Chen et al. 2020)",
    "gat": "graph attention network (Veličković et al. 2018)",
    "gatv2": "graph attention network with dynamic attention (Brody et al. 2022)",
    "ho-gnn": "GCN on the higher-order network, mean over all relatives (Jin et al. 2022)",
    "graphsage": "sample and aggregate: one directed, weighted learner (Hamilton et al. 2017)",
    "gin": "graph isomorphism network: weighted sums, both directions (Xu et al. 2019)",
    "seal": "enclosing subgraphs of pairs, double-radius labels, sort pooling (Zhang & Chen 2018)",
    "honem": "truncated SVD of the higher-order neighbourhood matrix, regression (Saebi et al. 2020)",
    "path2vec": "skip-gram on the paths, or on walks over the network, and regression (Mikolov et al. 2013)",
    "dbgnn": "De Bruijn graph neural network: two graphs and a bipartite layer (Qarkaxhija et al. 2022)",
    "path-kernel": "kernel ridge regression on path vectors: the kernel of our ensemble, alone (ours)",
    "majority": "the floor for nodes: class frequencies",
    "popularity": "the floor for links: product of degrees",
    "counts": "degrees, shared neighbours, lags and walks of a pair in a logistic regression (ours)",
    "gae": "optimised graph auto-encoder: linear propagation, deep decoder of products (CIKM 2025)",
    "graphsaint": "convolutions trained on subgraphs of random walks (Zeng et al. 2020)",
    "pathgcn": "operators learned along random walks (Eliasof et al. 2022)",
}
# Name: the class for nodes and the class for links, None where there is none.
_HOMES: dict[str, tuple[str | None, str | None]] = {
    "gcn": ("single:GCNClassifier", "single:GCNLinkPredictor"),
    "gcnii": ("single:GCNIIClassifier", "single:GCNIILinkPredictor"),
    "gat": ("single:GATClassifier", "single:GATLinkPredictor"),
    "gatv2": ("single:GATv2Classifier", "single:GATv2LinkPredictor"),
    "ho-gnn": ("ho_gnn:HOGNNClassifier", "ho_gnn:HOGNNLinkPredictor"),
    "graphsage": ("single:GraphSAGEClassifier", "single:GraphSAGELinkPredictor"),
    "gin": ("single:GINClassifier", "single:GINLinkPredictor"),
    "seal": (None, "seal:SEALLinkPredictor"),
    "honem": ("honem:HONEMClassifier", "honem:HONEMLinkPredictor"),
    "path2vec": ("path2vec:Path2vecClassifier", "path2vec:Path2vecLinkPredictor"),
    "dbgnn": ("dbgnn:DBGNNClassifier", "dbgnn:DBGNNLinkPredictor"),
    "path-kernel": ("path_kernel:PathKernelClassifier", None),
    "majority": ("majority:MajorityClassifier", None),
    "popularity": (None, "popularity:PopularityPredictor"),
    "counts": (None, "counts:CountsLinkPredictor"),
    "gae": (None, "gae:GAELinkPredictor"),
    "graphsaint": ("graphsaint:GraphSAINTClassifier", "graphsaint:GraphSAINTLinkPredictor"),
    "pathgcn": ("pathgcn:PathGCNClassifier", "pathgcn:PathGCNLinkPredictor"),
}
BASELINES = [
    Listed(name, task, home, _DESCRIPTIONS[name])
    for name, homes in _HOMES.items()
    for task, home in zip(("nodes", "links"), homes, strict=True)
    if home is not None
]


def estimator_named(name: str) -> type | None:
    """Return the baseline class of this name, imported now and no other; None where there is none."""
    found = next((entry for entry in BASELINES if entry.home.partition(":")[2] == name), None)
    return None if found is None else found.estimator()
