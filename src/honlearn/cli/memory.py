"""``honlearn info PATHS``: sizes of paths, and how much memory helps to predict their steps.

In: files of paths. Out: tables on standard output and one sentence, or the same as JSON.
"""

from __future__ import annotations

from typing import Any

import typer


def describe_paths(source: list[str], options: dict[str, Any], order: int, seed: int, as_json: bool) -> None:
    """Print sizes of the paths, what each order reaches on held-out paths, and the result in words."""
    from honlearn.errors import InputError
    from honlearn.hon.steps.memory import memory_gain
    from honlearn.paths.source import read_paths

    paths = read_paths(source[0] if len(source) == 1 else source, **options)
    parts = min(5, paths.total)
    if parts < 2:
        raise InputError(f"{', '.join(source)}: one path only, so none can be held out; give more paths")
    gain = memory_gain(paths, order, parts=parts, seed=seed)
    lengths = paths.lengths
    facts = {
        "paths": paths.total,
        "rows": len(paths),
        "steps": paths.n_steps,
        "entities": len(paths.vocabulary),
        "shortest": int(lengths.min()),
        "longest": int(lengths.max()),
    }
    if as_json:
        import json

        rows = gain.table().astype(object).where(gain.table().notna(), None).to_dict("records")
        told = {"sizes": facts, "memory": rows, "held_out_parts": gain.n_parts, "sentence": gain.sentence()}
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))
        return
    from rich.console import Console

    from honlearn.cli.info import table_of

    console = Console()
    console.print(table_of("Paths", ["", ""], [(name, f"{value:,}") for name, value in facts.items()]))
    shown = [
        [
            str(row.order),
            f"{row.bits:.3f} ± {row.bits_pm:.3f}",
            "–" if row.order == 1 else f"{row.saved:.3f} ± {row.saved_pm:.3f}",
            f"{row.top1:.3f} ± {row.top1_pm:.3f}",
        ]
        for row in gain.orders
    ]
    header = ["order", "bits per step", "saved", "top-1"]
    console.print(table_of("How much memory helps, on held-out paths", header, shown, last_left=False))
    typer.echo(gain.sentence())
