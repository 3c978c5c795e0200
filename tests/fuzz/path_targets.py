"""Targets: everything that paths are read from, by extension and option, and files of labels and facts."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import honlearn as hl
from fuzz.checks import use_network, use_paths
from fuzz.target import PATHS, Target, labels_of, small_network

_EVENTS = {"sequence": "trip", "entity": "stop"}
_ORDERED = {**_EVENTS, "order_by": "hour"}
_EDGES = {"source_column": "trip", "target_column": "stop", "order_by": "hour", "max_steps": 10**6}
_LISTS = {"path_column": "path", "count_column": "n"}

# target → document → how it is read.
_FILES: dict[str, dict[str, dict[str, Any]]] = {
    "text": {
        "plain.txt": {},
        "counted.txt": {"trailing_count": True, "drop_repeats": True},
        "ids.txt": {"skip_columns": 1, "on_empty": "skip", "first_only": True},
    },
    "ngram": {"counted.ngram": {"trailing_count": True}},
    "csv": {
        "events.csv": _EVENTS,
        "ordered.csv": {**_ORDERED, "max_gap": 2},
        "times.csv": {**_EVENTS, "order_by": "time", "max_gap": "2h"},
        "lists.csv": {**_LISTS, "delimiter": " "},
    },
    "tsv": {"ordered.tsv": _ORDERED, "lists.tsv": {**_LISTS, "delimiter": " ", "on_empty": "skip"}},
    "parquet": {
        "events.parquet": _EVENTS,
        "ordered.parquet": {**_ORDERED, "max_gap": 2},
        "times.parquet": {**_EVENTS, "order_by": "time", "max_gap": "2h"},
        "lists.parquet": _LISTS,
    },
    "arrow-file": {
        "events.arrow": _EVENTS,
        "ordered.arrow": {**_ORDERED, "max_gap": 2},
        "lists.arrow": _LISTS,
        "words.feather": {**_ORDERED, "on_empty": "skip"},
    },
    "arrow-stream": {
        "times.arrow": {**_EVENTS, "order_by": "time", "max_gap": "2h"},
        "lists.arrow": _LISTS,
        "words.arrow": _ORDERED,
    },
    "gzip": {"plain.txt.gz": {}, "ordered.csv.gz": _ORDERED, "lists.tsv.gz": {**_LISTS, "delimiter": " "}},
    "jsonl": {
        "events.jsonl": _EVENTS,
        "ordered.jsonl": {**_ORDERED, "max_gap": 2},
        "times.jsonl": {**_EVENTS, "order_by": "time", "max_gap": "2h", "on_empty": "skip"},
        "lists.jsonl": _LISTS,
        "arrays.jsonl": {},
        "packed.ndjson.gz": _ORDERED,
    },
    "temporal": {
        "ordered.csv": {**_EDGES, "max_gap": 2},
        "times.parquet": {**_EDGES, "order_by": "time", "max_gap": "2d"},
        "ordered.jsonl": {**_EDGES, "max_gap": 0.5, "on_empty": "skip"},
    },
    "xes": {
        "file-order.xes": {},
        "times.xes": {"order_by": "time:timestamp", "max_gap": "2h", "drop_repeats": True},
        "numbers.xes": {"order_by": "hour", "max_gap": 2, "on_empty": "skip"},
        "packed.xes.gz": {"entity": "org:resource", "max_unpacked": 1 << 20},
    },
    "zstd": {"counted.txt.zst": {"trailing_count": True}, "ordered.csv.zst": _ORDERED},
}


def _table(name: str) -> pa.Table:
    """Return the paths as a table of events or of lists; ``words`` have dictionary-encoded stops."""
    if name.startswith("lists"):
        lists = [[step.replace(" ", "_") for step in path] for path in PATHS]
        return pa.table(
            {"path": pa.array(lists, pa.list_(pa.string())), "n": [1 + i % 3 for i in range(len(lists))]}
        )
    rows = [(trip, hour, stop) for trip, path in enumerate(PATHS) for hour, stop in enumerate(path)]
    trip, hour, stop = (pa.array(column) for column in zip(*rows, strict=True))
    time = pa.array([3_600_000_000 * (row[1] + 24 * row[0]) for row in rows], pa.timestamp("us"))
    words = stop.dictionary_encode() if name.startswith("words") else stop
    return pa.table({"trip": trip, "hour": hour, "time": time, "stop": words})


def _log() -> str:
    """Return the paths as an event log in XES."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<log xes.version="1.0">']
    for trip, path in enumerate(PATHS):
        lines += ["<trace>", f'<string key="concept:name" value="trip {trip}"/>']
        for hour, stop in enumerate(path):
            time = f"2024-01-{1 + trip:02}T{hour:02}:00:00.000+01:00"
            lines += ["<event>", f'<string key="concept:name" value="{stop}"/>']
            lines += [
                f'<string key="org:resource" value="{stop} &amp; Co"><int key="hour" value="7"/></string>'
            ]
            lines += [f'<date key="time:timestamp" value="{time}"/>', f'<int key="hour" value="{hour}"/>']
            lines += ["</event>"]
        lines += ["</trace>"]
    return "\n".join([*lines, "</log>", ""])


def _text(name: str) -> str:
    """Return the paths as lines, as a table with commas or tabs, or as an event log."""
    if ".xes" in name:
        return _log()
    if "json" in name:
        rows = PATHS if name.startswith("arrays") else _table(name).to_pylist()
        return "".join(json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in rows)
    if name.startswith(("plain", "counted", "ids")):
        mark = "," if ".ngram" in name else " "
        rows = [[step.replace(" ", "_") for step in path] for path in PATHS]
        rows = [[*row, str(1 + i % 3)] if name.startswith("counted") else row for i, row in enumerate(rows)]
        rows = [[f"id{i}", *row] if name.startswith("ids") else row for i, row in enumerate(rows)]
        return "".join(mark.join(row) + "\n" for row in rows)
    mark = "\t" if ".tsv" in name else ","
    table = _table(name).to_pylist()
    cells = [[" ".join(v) if isinstance(v, list) else str(v) for v in row.values()] for row in table]
    return "".join(mark.join(row) + "\n" for row in [list(table[0]), *cells])


def _write(path: Path, stream: bool) -> None:
    name = path.name
    if name.endswith(".parquet"):
        # Neither packed nor encoded, so that a changed byte is a changed value.
        pq.write_table(_table(name), path, compression="none", use_dictionary=False)
    elif name.endswith((".arrow", ".feather")):
        table = _table(name)
        with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema) as sink:
            sink.write_table(table)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(_text(name).encode(), mtime=0))
    elif name.endswith(".zst"):
        path.write_bytes(pa.compress(_text(name).encode(), "zstd", asbytes=True))
    else:
        path.write_text(_text(name), "utf-8")


def _target(name: str, files: dict[str, dict[str, Any]]) -> Target:
    def make(folder: Path) -> None:
        for file in files:
            _write(folder / file, stream=name == "arrow-stream")

    def use(path: Path) -> None:
        options = files[path.name]
        use_paths(hl.read_paths(path, **options))
        use_network(hl.grow(path, order=2, tau=0.5, min_support=1, **options))

    return Target(name, make, use)


def _make_labels(folder: Path) -> None:
    known = labels_of(small_network())
    for name, mark in (("labels.csv", ","), ("labels.tsv", "\t")):
        with open(folder / name, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, delimiter=mark)
            rows.writerows(
                [("node", "latitude", "label"), *((n, i, c) for i, (n, c) in enumerate(known.items()))]
            )


def _use_labels(path: Path) -> None:
    from honlearn.cli.report import read_facts
    from honlearn.labels import read_labels

    network, known = small_network(), read_labels(path)
    network.summary(known)
    read_facts(path)


def _make_features(folder: Path) -> None:
    import pandas as pd

    names = list(small_network().vocabulary.names)
    table = pd.DataFrame({"node": names, "x": range(len(names)), "y": 0.5})
    table.to_csv(folder / "features.csv", index=False)
    table.to_parquet(folder / "features.parquet", compression=None)


def _use_features(path: Path) -> None:
    from honlearn.cli.features import read_features

    read_features(str(path))


def _make_dataset(folder: Path) -> None:
    import pandas as pd

    from honlearn.datasets.dataset import Dataset
    from honlearn.datasets.folder import save_folder

    lists = [[step.replace(" ", "_") for step in path] for path in PATHS]
    paths = hl.read_paths(lists)
    names = list(paths.vocabulary.names)
    nodes = pd.DataFrame({"latitude": 1.5, "longitude": 2.5}, index=pd.Index(names, name="node"))
    labels = dict.fromkeys(names, "x") | {"A": "y"}
    about = {"name": "small", "description": "two hubs", "licence": "none", "source": "here"}
    save_folder(Dataset(paths=paths, labels=labels, nodes=nodes, **about), folder / "dataset")


def _use_dataset(path: Path) -> None:
    from honlearn.datasets.folder import load_folder

    data = load_folder(path)
    use_paths(data.paths)
    repr(data)


TARGETS = [
    *(_target(name, files) for name, files in _FILES.items()),
    Target("labels", _make_labels, _use_labels),
    Target("features", _make_features, _use_features),
    Target("dataset", _make_dataset, _use_dataset),
]
