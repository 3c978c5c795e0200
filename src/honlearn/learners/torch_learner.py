"""Any graph neural network of PyTorch as the learner: PyTorch Geometric's models, or a class of one's own.

In: a function that makes a module. Out: a stack of such modules. The module sees the whole network,

    module(x, edge_index, edge_weight)  →  [N, out_channels],

with x [N, in_channels] a learned vector of each node's entity, and the entity's features beside it. Weights
of all learners are stacked, and each learner calls the module with its own, so that training, early stopping,
saving and pooling are those of the built-in learners.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call

from honlearn.engine.adjacency import matrix_of
from honlearn.engine.context import ForwardContext
from honlearn.engine.hashing import drop_threshold, hash32_tensor
from honlearn.engine.neighborhoods import Hop, SelfMask
from honlearn.engine.weights import Generators, glorot, zeros
from honlearn.errors import ParameterError, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.base import Inputs, Learner, Stack

_ONE_CALL = threading.RLock()
# Entities whose identity is hidden together when a model predicts, as those of a batch are in training.
_GROUPS = 8

Make = Callable[[int, int], nn.Module]


class WholeGraph:
    """The network as a module of PyTorch Geometric takes it: ``edge_index`` [2, E] from source to target."""

    rows_a_root = 1
    is_exact = True

    def __init__(self, network: HigherOrderNetwork, power: float, direction: str, mask: SelfMask) -> None:
        matrix = matrix_of(network, power, direction).tocoo()
        edges = np.stack([matrix.col, matrix.row]).astype(np.int64)
        self.edge_index = torch.from_numpy(edges)
        self.edge_weight = torch.from_numpy(matrix.data.astype(np.float32))
        self.base = torch.from_numpy(network.base.astype(np.int64))
        self.n_entities, self.mask = network.n_entities, mask

    def hops(self, roots: NDArray[np.int32], streams: NDArray[np.uint64], step: int) -> list[Hop]:
        """Raise: a module reads the network as a whole."""
        raise TypeError("a TorchLearner reads the whole graph; it has no hops")


class TorchStack(Stack):
    """Modules with stacked weights, called one learner after another."""

    def __init__(self, learner: TorchLearner, inputs: Inputs, generators: Generators) -> None:
        super().__init__()
        self.width, self.learner = learner.out_channels, learner
        size = learner.in_channels if learner.identity else 0
        self.identity = glorot(generators, inputs.n_entities, size) if size else None
        self.mask = zeros(generators, 1, size) if size else None
        # No buffer: those have a learner axis, which shrinks when learners of a bag are done.
        self.features = None if inputs.features is None else inputs.features.dense()
        channels = size + (0 if self.features is None else self.features.shape[1])
        modules = [_made(learner, channels, generator) for generator in generators]
        # A tuple, so that torch does not take the template's own weights for ours.
        self._template = (modules[0],)
        self._takes_weights = "edge_weight" in inspect.signature(modules[0].forward).parameters
        self.names = {_flat(name): name for name, _ in modules[0].named_parameters()}
        self.buffer_names = {_flat(name): name for name, _ in modules[0].named_buffers()}
        for flat, name in self.names.items():
            stacked = torch.stack([dict(module.named_parameters())[name].detach() for module in modules])
            self.register_parameter(flat, nn.Parameter(stacked))
        for flat, name in self.buffer_names.items():
            stacked = torch.stack([dict(module.named_buffers())[name].detach() for module in modules])
            self.register_buffer(flat, stacked)

    def represent(self, roots: NDArray[np.int32], near: WholeGraph, ctx: ForwardContext) -> torch.Tensor:
        """Return h of the roots [1|L, B] for each learner: [L, B, d]."""
        rows = np.broadcast_to(roots, (len(ctx.streams), roots.shape[1]))
        out = []
        for learner, of_learner in enumerate(rows):
            places = torch.from_numpy(np.array(of_learner, np.int64))
            if near.mask.active and not ctx.training:
                out.append(self._in_groups(learner, places, near, ctx))
            else:
                hidden = near.base[places] if near.mask.active else None
                out.append(self._rows(learner, near, ctx, hidden)[places.to(ctx.run.device)])
        return torch.stack(out)

    def _in_groups(
        self, learner: int, places: torch.Tensor, near: WholeGraph, ctx: ForwardContext
    ) -> torch.Tensor:
        """Return h [B, d] of roots, each from a pass in which the identities of its group are hidden.

        The groups divide the entities once and for all: what a node gets does not depend on who is asked
        for beside it.
        """
        entities = torch.arange(near.n_entities)
        group_of = hash32_tensor(entities, torch.tensor(0x51ED270B)) % _GROUPS
        groups = group_of[near.base[places]]
        out = torch.empty(len(places), self.width, device=ctx.run.device)
        for group in sorted(set(groups.tolist())):
            some = torch.nonzero(groups == group)[:, 0]
            h = self._rows(learner, near, ctx, entities[group_of == group])
            out[some.to(out.device)] = h[places[some].to(out.device)]
        return out

    def _rows(
        self, learner: int, near: WholeGraph, ctx: ForwardContext, hidden: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the module's rows [N, d] for one learner, the identities of `hidden` entities masked."""
        device = ctx.run.device
        module, x = self._template[0], self._inputs(learner, near, ctx, hidden)

        def own(names: Mapping[str, str]) -> dict[str, torch.Tensor]:
            stacked = {name: getattr(self, flat) for flat, name in names.items()}
            return {name: value[learner if len(value) > 1 else 0] for name, value in stacked.items()}

        arguments = [x, near.edge_index.to(device)]
        if self._takes_weights:
            arguments.append(near.edge_weight.to(device))
        # The module's random numbers depend on the learner and the step only. All learners have one module,
        # and all threads one generator of torch: so one call at a time.
        with _ONE_CALL, _stream(int(ctx.streams[learner] ^ np.uint64(ctx.step)), device):
            module.train(ctx.training)
            h = functional_call(module, own(self.names) | own(self.buffer_names), tuple(arguments))
        if not isinstance(h, torch.Tensor) or h.shape != (len(x), self.width):
            got = tuple(h.shape) if isinstance(h, torch.Tensor) else type(h).__name__
            raise ParameterError(
                f"TorchLearner: the module must return one row for each node, [{len(x)}, {self.width}] "
                f"(out_channels). Got {got} instead."
            )
        return h

    def _inputs(
        self, learner: int, near: WholeGraph, ctx: ForwardContext, hidden: torch.Tensor | None
    ) -> torch.Tensor:
        """Return x [N, in_channels]: the identity of each node's base, and its features."""
        base, parts = near.base.to(ctx.run.device), []
        if self.identity is not None and self.mask is not None:
            one = learner if len(self.identity) > 1 else 0
            identity = self.identity[one]
            if hidden is not None:
                is_hidden = torch.zeros(len(identity), 1, dtype=torch.bool, device=identity.device)
                is_hidden[hidden.to(identity.device)] = True
                identity = torch.where(is_hidden, self.mask[one], identity)
            rows = identity[base]
            site = ctx.site(0, "own", float(self.learner.input_dropout or 0))
            if site.rate:
                place = torch.arange(len(base), device=base.device)
                kept = hash32_tensor(place, torch.tensor(int(site.keys[learner]))) >= drop_threshold(
                    site.rate
                )
                rows = rows * (kept.to(rows) * float(site.scale))[:, None]
            parts.append(rows)
        if self.features is not None:
            parts.append(self.features.to(ctx.run.device)[base])
        return torch.cat(parts, 1)


@contextmanager
def _stream(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Let torch draw from this seed inside the block, on the CPU and on the device, as before after it."""
    cuda = [] if device is None or device.type != "cuda" else [device]
    with torch.random.fork_rng(devices=cuda):
        torch.default_generator.manual_seed(seed & (2**63 - 1))
        if cuda:
            torch.cuda.manual_seed(seed & (2**63 - 1))
        yield


def _made(learner: TorchLearner, channels: int, generator: torch.Generator) -> nn.Module:
    with _stream(generator.initial_seed()):
        module = learner.make(channels, learner.out_channels) if learner.make else None
    if not isinstance(module, nn.Module):
        raise ParameterError(
            "The 'make' parameter of TorchLearner must return a torch.nn.Module. "
            f"Got {type(module).__name__} instead."
        )
    return module


def _flat(name: str) -> str:
    return "module__" + name.replace(".", "__")


class TorchLearner(Learner):
    """Any module of PyTorch; see :class:`Learner` for the parameters that all learners have.

    ``make(in_channels, out_channels)`` returns a ``torch.nn.Module`` whose
    ``forward(x, edge_index, edge_weight=None)`` gives one row for each node, [N, out_channels];
    `edge_weight` may be left out of the signature. `in_channels` is the size of the learned input of each
    entity. Edges lead from source to target as `direction` says: ``"in"`` as they are, ``"out"`` turned
    round, ``"both"`` both ways. A model that was saved is loaded with ``load_model(folder, make=make)``: a
    folder holds weights, never code.

    Parameters
    ----------
    make
        Function of the sizes of input and output that makes a module.
    in_channels
        Width of the input vectors.
    out_channels
        Width of the module's output.
    direction
        Which edges are read: "in", "out" or "both".
    edge_power
        A neighbour counts by the weight of its edge to this power; 0 ignores weights, "auto" chooses.
    identity
        Whether every entity has an input vector of its own; without it there must be features.
    input_dropout
        Share of neighbours that are dropped in training; None is what suits the task.
    mask_self
        Whether a labelled root is kept from reading its own identity; None is what suits the task.

    Examples
    --------
    >>> from torch_geometric.nn.models import GraphSAGE
    >>> TorchLearner(lambda n_in, n_out: GraphSAGE(n_in, 64, 2, n_out)).width
    128
    """

    kind: ClassVar[str] = "torch"
    task_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nodes": {"input_dropout": 0.4, "mask_self": True},
        "links": {"input_dropout": 0.2, "mask_self": False},
    }
    training_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {"nodes": {}, "links": {"n_batches": 4}}

    def __init__(
        self,
        make: Make | None = None,
        in_channels: int = 64,
        out_channels: int = 128,
        direction: str = "both",
        edge_power: float | str = 0.5,
        identity: bool = True,
        input_dropout: float | None = None,
        mask_self: bool | None = None,
    ) -> None:
        self.make, self.in_channels, self.out_channels = make, in_channels, out_channels
        self.direction, self.edge_power, self.identity = direction, edge_power, identity
        self.input_dropout, self.mask_self = input_dropout, mask_self

    @property
    def widths(self) -> int | Sequence[int]:  # type: ignore[override]
        """The width of a representation; what lies before it is the module's own."""
        return self.out_channels

    def described(self) -> dict[str, Any]:
        """Return plain values that tell one module from another: who makes it, and its weights' shapes."""
        name = getattr(self.make, "__qualname__", type(self.make).__qualname__)
        module = _made(self, self.in_channels, torch.Generator())
        shapes = {name: list(weight.shape) for name, weight in module.named_parameters()}
        return {"function": name, "module": repr(module), "weights": shapes}

    @property
    def hidden_dropout(self) -> float:  # type: ignore[override]
        """The module's own affair; of pairs, what is dropped between their dense layer and the classes."""
        return 0.0

    def check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        super().check()
        self._check_direction()
        if not callable(self.make):
            raise ParameterError(
                "The 'make' parameter of TorchLearner must be a function of (in_channels, out_channels) that "
                f"returns a torch.nn.Module. Got {self.make!r} instead."
            )
        check_integer(self.name, "in_channels", self.in_channels, 1)
        check_integer(self.name, "out_channels", self.out_channels, 3)

    def neighborhood(self, network: HigherOrderNetwork, mask: SelfMask) -> WholeGraph:
        """Return the whole network as edges."""
        return WholeGraph(network, self.power, self.direction, mask)

    def stack(self, inputs: Inputs, generators: Generators) -> Stack:
        """Return new weights, made by the user's function under each learner's seed."""
        return TorchStack(self, inputs, generators)
