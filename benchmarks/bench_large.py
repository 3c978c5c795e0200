"""Large networks: memory of a fit against its estimate, steps that do not grow with entities, path vectors.

    python benchmarks/bench_large.py [--scale 1] [--only fit,million,saved,steps,vectors] [--json FILE]

`fit` trains 16 learners on a network of 192,000 nodes and 8 million edges, `million` on a million entities,
each for few epochs in a process of its own, from sampled neighbourhoods: CPU seconds, the peak of the whole
fit (path vectors among it), the peak of the training beside its estimate, the peak of a prediction for some
thousand entities, and how many learners trained at a time. `saved` writes a model of 120,000 entities and
loads it in a process of its own: CPU seconds, and what either adds to the memory of its process. `steps` is
the time of one sampled step of one learner on 100,000 and on a million entities. `vectors` compares path
vectors by sketching with exact ones: time, and the share of the squares of the singular values that they
hold. Sizes are times the scale.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

import honlearn as hl
from honlearn.engine.context import ForwardContext
from honlearn.engine.optimizer import Adam
from honlearn.engine.runtime import Runtime
from honlearn.ensemble import memory
from honlearn.ensemble.ensemble import Architecture, Ensemble, surroundings
from honlearn.ensemble.node_model import NodeModel
from honlearn.hon import embedding
from honlearn.hon.edgelist import from_edges
from honlearn.learners import SAGE

FITS = {"fit": (17_428, 175_000, 8_000_000), "million": (1_000_000, 0, 9_000_000)}
CLASSES, LABELLED, PREDICTED = 8, 4_000, 4_000


def network(entities: int, contexts: int, edges: int, seed: int = 0) -> Any:
    """Return a network with communities, uneven degrees and contexts of one step of memory."""
    random = np.random.default_rng(seed)
    popular = random.permutation(np.arange(1, entities + 1) ** -0.7)
    ends = np.cumsum(popular) / popular.sum()
    names = np.char.zfill(np.arange(entities).astype(str), 7).astype(object)

    def drawn(count: int) -> Any:
        return np.minimum(np.searchsorted(ends, random.random(count)), entities - 1)

    labels = names
    if contexts:
        pairs = np.unique(np.stack([drawn(2 * contexts), drawn(2 * contexts)], 1), axis=0)
        pairs = random.permutation(pairs[pairs[:, 0] != pairs[:, 1]])[:contexts]
        labels = np.concatenate([names, names[pairs[:, 0]] + "|" + names[pairs[:, 1]]])
    source, target = random.integers(0, len(labels), edges), drawn(edges)
    # Every entity has an edge, so that there are as many as asked for.
    source[:entities] = np.arange(entities)
    ends_of = np.stack([source, target], 1)
    ends_of = np.unique(ends_of[ends_of[:, 0] != ends_of[:, 1]], axis=0)
    weights = random.integers(1, 9, len(ends_of))
    return from_edges(labels[ends_of[:, 0]].tolist(), labels[ends_of[:, 1]].tolist(), weights)


def fit_here(
    name: str, scale: float, learners: int, limit: str | None, labelled: int = LABELLED, vectors: int = 64
) -> dict[str, Any]:
    """Fit in this process and return what it took; without `vectors` there is no path kernel either."""
    _fit(network(500, 0, 4_000), LABELLED, 1, limit, vectors)  # what it imports and compiles is there now
    hon = network(*(int(size * scale) for size in FITS[name]))
    before = memory.resident_memory()
    _reset_peak()
    measured = _Measured()
    started = time.process_time()
    with measured:
        model = _fit(hon, labelled, learners, limit, vectors)
    fitted = time.process_time()
    peak = max(measured.peaks[0], measured.peaks[1], _peak())
    _reset_peak()
    model.predict_proba(list(hon.vocabulary.names[:PREDICTED]))
    return {
        "what": f"{name}: {hon.n_entities:,} entities, {hon.n_nodes:,} nodes, {hon.n_edges:,} edges",
        "learners": learners,
        "at_a_time": measured.size,
        "cpu_s": round(fitted - started, 1),
        "peak_mb": round(peak / 1e6),
        "before_mb": round(before / 1e6),
        "loaded_mb": round(measured.loaded / 1e6),
        "training_mb": round(measured.peaks[1] / 1e6),
        "estimate_mb": round(measured.estimate / 1e6),
        "predict_cpu_s": round(time.process_time() - fitted, 1),
        "predict_mb": round(_peak() / 1e6),
        "notes": "; ".join(model.notes_),
    }


def _fit(hon: Any, labelled: int, learners: int, limit: str | None, vectors: int) -> Any:
    nodes = np.random.default_rng(1).permutation(hon.n_entities)[:labelled]
    training = hl.Training(max_epochs=2, patience=2, memory=limit)
    given = {"n_learners": learners, "training": training, "n_threads": 1, "random_state": 0}
    kernel = hl.PathKernel(vectors, "auto" if vectors else 0.0)
    model = hl.DGEClassifier(hon, SAGE(fan_outs=(64, 1)), path_kernel=kernel, **given)
    return model.fit([hon.vocabulary.names[i] for i in nodes], nodes % CLASSES)


class _Measured:
    """Inside the block: the peaks before a training and in it, and what was estimated for it."""

    def __init__(self) -> None:
        self.peaks: list[int] = []
        self.estimate = self.size = self.loaded = 0

    def __enter__(self) -> None:
        self._fit, self._asked = NodeModel.fit, memory.group_size

        def asked(found: memory.Estimate, *given: Any) -> int | None:
            size = self._asked(found, *given)
            self.size = size or found.n_learners
            self.loaded = memory.resident_memory()
            self.estimate = self.loaded + found.total(self.size)
            return size

        def fit(*given: Any) -> Any:
            self.peaks.append(_peak())
            _reset_peak()
            try:
                return self._fit(*given)
            finally:
                self.peaks.append(_peak())
                _reset_peak()

        memory.group_size, NodeModel.fit = asked, fit  # type: ignore[method-assign, assignment]

    def __exit__(self, *given: object) -> None:
        memory.group_size, NodeModel.fit = self._asked, self._fit  # type: ignore[method-assign]


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    try:
        text = Path("/proc/self/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fit_apart(name: str, scale: float, learners: int, limit: str | None) -> dict[str, Any]:
    """Fit in a process of its own, whose memory is its own."""
    words = [name, str(scale), str(learners), limit or ""]
    return _apart("n, s, l, m = sys.argv[1:]; found = b.fit_here(n, float(s), int(l), m or None)", words)


def saved_apart(scale: float, learners: int) -> dict[str, Any]:
    """Save a model in one process and load it in another."""
    with tempfile.TemporaryDirectory() as folder:
        words = [str(Path(folder) / "model"), str(scale), str(learners)]
        row = _apart("f, s, l = sys.argv[1:]; found = b.save_here(f, float(s), int(l))", words)
        return row | _apart("found = b.load_here(sys.argv[1])", words)


def save_here(folder: str, scale: float, learners: int) -> dict[str, Any]:
    """Fit a model with large tables of weights and return what it took to save it."""
    hon = network(int(120_000 * scale), 0, int(1_080_000 * scale))
    training = hl.Training(max_epochs=1, patience=1, memory="1.5GB")
    given = {"n_learners": learners, "training": training, "n_threads": 1, "random_state": 0}
    model = hl.DGEClassifier(hon, SAGE(fan_outs=(16, 1)), path_kernel=hl.PathKernel(0, 0.0), **given)
    nodes = np.arange(0, hon.n_entities, max(hon.n_entities // 200, 1))
    model.fit([hon.vocabulary.names[i] for i in nodes], np.arange(len(nodes)) % CLASSES)
    taken = _taken(lambda: model.save(folder), "save")
    size = (Path(folder) / "weights.safetensors").stat().st_size
    return {"what": f"saved: {hon.n_entities:,} entities", "weights_mb": round(size / 1e6), **taken}


def load_here(folder: str) -> dict[str, Any]:
    """Return what it took to load a model."""
    torch.set_num_threads(1)
    return _taken(lambda: hl.load_model(folder), "load")


def _taken(call: Callable[[], Any], name: str) -> dict[str, Any]:
    """Return the CPU seconds of a call and by how much the memory of the process grew in it."""
    before, started = memory.resident_memory(), time.process_time()
    _reset_peak()
    call()
    took = time.process_time() - started
    return {f"{name}_cpu_s": round(took, 2), f"{name}_adds_mb": round((_peak() - before) / 1e6)}


def _apart(code: str, words: list[str]) -> dict[str, Any]:
    """Return the `found` of code that runs in a process of its own."""
    folder = str(Path(__file__).parent)
    path = os.pathsep.join([folder, str(Path(hl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    out = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys, json, bench_large as b; {code}; print(json.dumps(found))",
            *words,
        ],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return dict(json.loads(out.stdout.splitlines()[-1]))


def sampled_step(entities: int, repeat: int) -> dict[str, Any]:
    """Return the CPU milliseconds of a sampled step of one learner."""
    hon = network(entities, 0, 3 * entities)
    kind = SAGE(fan_outs=(64, 1)).resolved("nodes")
    shape = Architecture("bag", False, 1, CLASSES, hon.n_entities, (kind,))
    ensemble, near, run = Ensemble(shape, 0, [0]), surroundings(hon, shape, False), Runtime(n_threads=1)
    optimizer, times = Adam(ensemble, run, 0.01, 1e-7, 0.0), []
    random = np.random.default_rng(2)
    for step in range(repeat + 1):
        roots = random.integers(0, hon.n_entities, (1, min(512, entities))).astype(np.int32)
        started = time.process_time()
        with run.step():
            ctx = ForwardContext(run, np.array([7], np.uint64), step, training=True)
            logits = ensemble(roots, near, ctx)
            F.cross_entropy(logits[0], torch.from_numpy(roots[0] % CLASSES).long()).backward()
            optimizer.step()
            optimizer.clear()
        times.append(time.process_time() - started)
    ms = 1000 * float(np.median(times[1:]))
    return {"what": f"sampled step, {hon.n_entities:,} entities", "cpu_ms": round(ms, 2)}


def vectors(entities: int, dimensions: int, exact: bool) -> dict[str, Any]:
    """Return the time of sketched path vectors, and with `exact` what they lose."""
    steps = embedding.steps_to_others(network(entities, 0, 20 * entities), 1)
    both = embedding.sparse.hstack([embedding.information(some, 1.0) for some in (steps, steps.T)]).tocsr()
    started = time.process_time()
    values = embedding.sketched(both, dimensions)[1]
    row = {"what": f"{dimensions} path vectors of {entities:,}", "sketched_s": time.process_time() - started}
    if exact:
        started = time.process_time()
        best = embedding._leading(both, dimensions)[1]
        row |= {"exact_s": time.process_time() - started, "squares": (values**2).sum() / (best**2).sum()}
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description="Benchmark of large networks")
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE", 1)))
    parser.add_argument("--only", default="fit,million,saved,steps,vectors")
    parser.add_argument("--learners", type=int, default=16)
    parser.add_argument("--memory", default=None)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows, scale = [], options.scale
    for name in options.only.split(","):
        if name in FITS:
            made = [fit_apart(name, scale, options.learners, options.memory)]
        elif name == "saved":
            made = [saved_apart(scale, options.learners)]
        elif name == "steps":
            made = [sampled_step(max(int(size * scale), 40), 5) for size in (100_000, 1_000_000)]
        else:
            made = [vectors(max(int(17_000 * scale), 100), min(64, max(int(64 * scale), 8)), True)]
        for row in made:
            print(json.dumps(row), flush=True)
        rows += made
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return rows


if __name__ == "__main__":
    main()
