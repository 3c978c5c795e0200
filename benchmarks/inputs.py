"""Inputs of the benchmarks: large path files with planted memory, made once and kept under .bench/.

Where the reference generator is at hand (../shared/tools/gen_paths.py) it makes the files, so that figures
compare; elsewhere a generator of our own makes files of the same size and vocabulary.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT.parent / "shared" / "tools" / "gen_paths.py"
PRESETS = {"air": (17_100_000, 416, 33), "mag": (8_100_000, 17_428, 64)}
# Made by our own generator: a thousandth of a billion paths over ten million entities.
OWN = {"thousandth": (1_000_000, 10_000, 64)}


def path_file(preset: str, scale: float = 1.0, folder: Path = ROOT / ".bench") -> Path:
    """Return a text file with the paths of a preset, or of a part of it, made if it is not there."""
    n_paths, n_nodes, out_degree = (PRESETS | OWN)[preset]
    reference = REFERENCE.is_file() and preset in PRESETS
    n_paths = max(int(n_paths * scale), 1000)
    kind = "" if reference else "-own"
    file = folder / f"{preset}-{n_paths}{kind}.txt"
    if file.is_file():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    print(f"making {file.name} …", file=sys.stderr)
    if reference:
        stem = file.with_suffix(".part")
        options = ["--preset", preset, "--paths", str(n_paths), "--out", str(stem), "--text", "--no-npy"]
        subprocess.run([sys.executable, str(REFERENCE), *options], check=True, stdout=subprocess.DEVNULL)
        stem.with_name(stem.name + ".txt").replace(file)
    else:
        part = file.with_suffix(".part")
        with part.open("w") as out:
            for seed in range(-(-n_paths // 100_000)):
                some = min(100_000, n_paths - seed * 100_000)
                out.writelines(_walks(some, n_nodes, out_degree, seed))
        part.replace(file)
    return file


def _walks(n_paths: int, n_nodes: int, out_degree: int, seed: int) -> list[str]:
    """Walks whose next step depends on the last entity and, at every fourth entity, on the one before."""
    rng = np.random.default_rng([7, seed])
    slots = np.arange(1, out_degree + 1) ** -1.0
    slots /= slots.sum()
    length = 2 + rng.poisson(2, n_paths)
    before = np.zeros(n_paths, np.int64)
    now = rng.integers(0, n_nodes, n_paths)
    steps = [now]
    for _ in range(int(length.max()) - 1):
        slot = rng.choice(out_degree, n_paths, p=slots)
        slot = np.where((now % 4 == 0) & (rng.random(n_paths) < 0.8), before % out_degree, slot)
        before, now = now, (now * 31 + slot * slot * 17 + slot + 1) % n_nodes
        steps.append(now)
    rows = np.stack(steps, 1).tolist()
    return [" ".join(map(str, row[:n])) + "\n" for row, n in zip(rows, length, strict=True)]
