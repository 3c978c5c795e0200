"""Graph neural networks that an ensemble is made of: small objects that hold parameters.

In: parameters by keyword. Out: learners, which say what they read of a network and make stacks of weights for
:mod:`honlearn.ensemble`; the arithmetic is in :mod:`honlearn.engine`.

``DGEClassifier(network, learner=GAT(heads=4))`` trains an ensemble of them, ``learner="gat"`` one with its
defaults, and ``learner=[SAGE(), GCN()]`` a mixed one. :class:`TorchLearner` takes any module of PyTorch. A
new kind is one file and one line here.
"""

from honlearn.learners.base import Learner
from honlearn.learners.gat import GAT
from honlearn.learners.gatv2 import GATv2
from honlearn.learners.gcn import GCN
from honlearn.learners.gcnii import GCNII
from honlearn.learners.gin import GIN
from honlearn.learners.sage import SAGE
from honlearn.learners.torch_learner import TorchLearner

KINDS: dict[str, type[Learner]] = {
    learner.kind: learner for learner in (SAGE, GIN, GCN, GCNII, GAT, GATv2, TorchLearner)
}

__all__ = ["GAT", "GCN", "GCNII", "GIN", "KINDS", "SAGE", "GATv2", "Learner", "TorchLearner"]
