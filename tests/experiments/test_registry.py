from __future__ import annotations

import subprocess
import sys

import pytest

from honlearn.errors import ParameterError
from honlearn.experiments.registry import Entry, find_model, model_names, register
from honlearn.hon.edgelist import from_edges


@pytest.mark.parametrize("variant", ["concat", "pool", "bag", "attn"])
def test_a_name_decides_variant_and_sharing(variant: str) -> None:
    hon = from_edges(["a"], ["b"], [1])
    for name, shared in [("", False), ("*", True), ("-shared", True)]:
        made = find_model(f"dge-{variant}{name}").make(hon, n_learners=3)
        assert (made.variant, made.shared, made.n_learners) == (variant, shared, 3)
        assert made.network is hon


def test_batch_has_one_name_and_two_spellings() -> None:
    assert find_model("dge-batch") is find_model("dge-batch*") is find_model("DGE-batch")
    assert find_model("dge-batch").make(from_edges(["a"], ["b"], [1])).variant == "batch"


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(ParameterError, match=r"no model 'dge-bog'; there are dge-concat, .*mean 'dge-bag'\?"):
        find_model("dge-bog")
    with pytest.raises(ParameterError, match=r"'task' parameter .* Got 'edges'"):
        find_model("dge-bag", "edges")


def test_names_are_unique_and_described() -> None:
    names = model_names("nodes")
    assert len(names) == len(set(names)) >= 9
    assert all(find_model(name).description for name in names)
    with pytest.raises(ParameterError, match="there is a model 'dge-bag' for nodes already"):
        register(Entry("dge-bag", ("nodes",), "again", "honlearn.tasks:DGEClassifier"))


def test_parameters_hold_every_keyword() -> None:
    entry = find_model("dge-pool*")
    parameters = entry.parameters({"n_learners": 2})
    of_gcn, of_gat = {"direction"}, {"direction", "heads", "use_weights"}
    of_others = {*of_gcn, *of_gat, "alpha", "theta", "layer_decay", "in_channels", "out_channels"}
    assert set(parameters) == set(entry.keywords()) - of_others
    assert set(entry.parameters({"learner": "gcn"})) & of_others == of_gcn
    assert set(entry.parameters({"learner": "gat"})) & of_others == of_gat
    assert (parameters["variant"], parameters["shared"], parameters["n_learners"]) == ("pool", True, 2)
    assert "network" not in parameters


def test_names_are_read_without_torch() -> None:
    code = "import sys, honlearn.experiments.registry as r; r.model_names(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
