"""Facts of nodes that a run keeps for its page."""

from __future__ import annotations

from pathlib import Path

from honlearn.experiments.artefacts import keep_facts
from honlearn.results.artefacts import read_facts


def test_facts_are_of_the_nodes_wherever_their_column_is(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,label,place,lat\n7,x,A,1.5\n8,y,B,\nA,x,C,3\n")
    (tmp_path / "nodes.csv").write_text("name,Label,long,\nA,x,9,z\n")
    keep_facts(tmp_path, tmp_path / "labels.csv", "place")
    assert read_facts(tmp_path) == {"A": {"id": "7", "lat": "1.5", "long": "9"}, "B": {"id": "8"}} | {
        "C": {"id": "A", "lat": "3"}
    }
    keep_facts(tmp_path, tmp_path / "labels.csv")
    assert read_facts(tmp_path) == {
        "7": {"place": "A", "lat": "1.5"},
        "8": {"place": "B"},
        "A": {"place": "C", "lat": "3", "long": "9"},
    }
