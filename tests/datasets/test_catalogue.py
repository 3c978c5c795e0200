"""The catalogue, loading by name, the data set itself, and what none of it imports."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from honlearn import datasets
from honlearn.datasets import Dataset, available, load, us_flights
from honlearn.errors import InputError
from honlearn.paths.paths import Paths


def test_every_entry_is_a_function_and_what_it_says() -> None:
    for entry in available():
        assert callable(getattr(datasets, entry.name))
        assert all((entry.what, entry.licence, entry.source, entry.needs))
    flights, entry = us_flights(), available()[0]
    assert (entry.paths, entry.nodes, entry.classes) == (
        flights.paths.total,
        len(flights.paths.vocabulary),
        len(flights.classes),
    )


def test_offline_entries_load_with_nothing_given() -> None:
    for entry in available():
        if entry.offline:
            assert load(entry.name).paths.total > 0


def test_load_by_name_with_options_or_a_folder(tmp_path: Path) -> None:
    assert load("synthetic", n_classes=3, n_nodes=9).classes == {"c0": 3, "c1": 3, "c2": 3}
    (tmp_path / "paths.txt").write_text("A B\n")
    assert load(tmp_path).paths[0] == ("A", "B")
    with pytest.raises(
        InputError, match=r"called 'us_flight'; did you mean 'us_flights'\?; there are us_flights,"
    ):
        load("us_flight")


def test_a_data_set_is_immutable() -> None:
    data = Dataset("toy", Paths.from_lists([["A", "B"]]), {"B": "x", "Z": "y"})
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        data.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        data.labels["B"] = "y"  # type: ignore[index]
    assert data.labelled() == (["B"], ["x"])
    assert repr(Dataset("bare", data.paths)) == "Dataset('bare': 1 paths, 2 entities, no labels)"


def test_names_are_escaped_in_a_notebook() -> None:
    html = Dataset("<b>", Paths.from_lists([["A", "B"]]), {"A": "<i>"}, tally={"dropped": 1234})._repr_html_()
    assert "<i>" not in html
    assert "&lt;i&gt; (1)" in html
    assert "1,234" in html


def test_no_data_set_imports_torch_and_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys; from honlearn import datasets; import honlearn.cli.data;"
        "heavy = {'torch', 'pandas', 'pyarrow', 'numba', 'sklearn'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules);"
        "datasets.us_flights(); datasets.synthetic(n_nodes=8); datasets.available();"
        "assert 'torch' not in sys.modules;"
        "assert callable(datasets.us_flights) and callable(datasets.synthetic)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
