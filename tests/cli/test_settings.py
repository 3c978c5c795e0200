from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from honlearn.cli.settings import check_owners, parse_settings
from honlearn.cli.typed import spread_settings
from honlearn.errors import FormatError, MissingFileError, ParameterError
from honlearn.experiments.evaluate import ModelSpec
from honlearn.experiments.registry import Entry, find_model
from honlearn.experiments.spaces import paper_space
from honlearn.learners import GCN, SAGE

BAG = find_model("dge-bag")
LINKS = find_model("dge-bag", "links")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("n_learners=8", 8),
        ("learning_rate=1e-3", 0.001),
        ("learning_rate=1", 1.0),
        ("identity=false", False),
        ("normalize=Yes", True),
        ("batch_size=none", None),
        ("batch_size=32", 32),
        ("widths=64", 64),
        ("widths=128,64", (128, 64)),
        ("widths=[128, 64]", (128, 64)),
        ("widths=(9,)", (9,)),
        ("fan_outs=64,1", (64, 1)),
        ("fan_outs=64", 64),
        ("fan_outs=None", None),
        ("aggregator=gin", "gin"),
        ("n_draws=all", "all"),
        ("n_draws=10", 10),
        ("class_weight=balanced", "balanced"),
        ("class_weight=none", None),
        ("class_weight=a:2,b c:0.5", {"a": 2.0, "b c": 0.5}),
        ("verbose=none", None),
        (" n_threads = 2 ", 2),
    ],
)
def test_words_become_values(word: str, value: Any) -> None:
    [(key, got)] = parse_settings([word], BAG).items()
    assert key == word.partition("=")[0].strip()
    assert got == value
    assert type(got) is type(value)


def test_the_estimator_takes_what_is_parsed() -> None:
    settings = parse_settings(["widths=8,8", "n_learners=3", "n_learners=4"], BAG)
    assert settings == {"widths": (8, 8), "n_learners": 4}
    assert BAG.make(None, **settings).get_params()["n_learners"] == 4
    assert parse_settings(None, BAG) == {}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("n_learners", r"'n_learners' is not key=value; e\.g\. --set n_learners=8"),
        ("=3", "is not key=value"),
        (
            "n_lerners=3",
            r"dge-bag has no 'n_lerners'; there are learner, n_learners, .*did you mean 'n_learners'\?",
        ),
        ("network=x", "dge-bag has no 'network'"),
        ("hops=2", r"dge-bag has no 'hops'; .*; NAME:hops=\.\.\. sets it for one model alone"),
        ("variant=pool", "the name 'dge-bag' decides variant; choose another --model"),
        ("random_state=3", "random_state is not set here; use --seed"),
        ("checkpoint=x", "checkpoint is not set here"),
        ("n_learners=x", r"n_learners of dge-bag must be a whole number\. Got 'x' instead"),
        ("n_learners=2.5", "must be a whole number"),
        ("n_learners=", "must be a whole number"),
        ("learning_rate=fast", "must be a number"),
        ("identity=2", "must be true or false"),
        ("widths=a,b", "must be a whole number or whole numbers such as 128,128"),
        ("widths=", "must be a whole number or whole numbers"),
        ("batch_size=big", "must be none or a whole number"),
    ],
)
def test_wrong_words_are_one_clear_line(word: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        parse_settings([word], BAG)
    assert "\n" not in str(raised.value)


def test_a_setting_of_one_model() -> None:
    words = ["n_learners=4", "dge-pool*:n_learners=2", "dge-pool-shared:patience=3"]
    assert parse_settings(words, BAG) == {"n_learners": 4}
    assert parse_settings(words, find_model("dge-pool*")) == {"n_learners": 2, "patience": 3}
    check_owners(words, [BAG, find_model("dge-pool*")])
    with pytest.raises(ParameterError, match=r"'dge-pool\*' does not take part; there are dge-bag"):
        check_owners(words, [BAG])


def test_a_setting_of_another_model_says_whose_it_is() -> None:
    gcn = find_model("gcn")
    with pytest.raises(ParameterError, match=r"; dge-bag:n_learners=\.\.\. sets it for dge-bag alone$"):
        parse_settings(["n_learners=4"], gcn, [BAG, gcn])
    # A slip of the pen is still one.
    with pytest.raises(ParameterError, match=r"did you mean 'n_layers'\?$"):
        parse_settings(["n_layer=4"], gcn, [BAG, gcn])


# --- learners and groups ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "entry", "parameters"),
    [
        ("learner=gat learner.heads=4", BAG, {"learner": "GAT(heads=4)"}),
        ("learner.heads=4 learner=GAT", BAG, {"learner": "GAT(heads=4)"}),
        ("learner=sage,gcn,gat", BAG, {"learner": "['sage', 'gcn', 'gat']"}),
        ("learner=sage+gcn,gat heads=2", BAG, {"learner": "[SAGE(), GCN(), GAT(heads=2)]"}),
        ("learner=gcn,gat width=16", BAG, {"learner": "[GCN(widths=(16,)), GAT(widths=(16,))]"}),
        ("widths=64,64", BAG, {"learner": "SAGE(widths=(64, 64))"}),
        ("n_layers=2 width=16", BAG, {"learner": "SAGE(widths=(16, 16))"}),
        ("learner=gcn n_layers=2 width=16", BAG, {"learner": "GCN(widths=(16, 16))"}),
        ("learner.n_layers=3", BAG, {"learner": "SAGE(widths=(128, 128, 128))"}),
        ("dropout=0.3", BAG, {"learner": "SAGE(hidden_dropout=0.3, input_dropout=0.3)"}),
        ("echo=true", BAG, {"learner": "SAGE(mask_self=False)"}),
        ("aggregator=gin fan_outs=8,2", BAG, {"learner": "GIN(fan_outs=(8, 2))"}),
        ("max_epochs=5", BAG, {"training": "Training(max_epochs=5)"}),
        ("training.max_epochs=5", BAG, {"training": "Training(max_epochs=5)"}),
        ("path_features=0 kernel_share=0", BAG, {"path_kernel": "PathKernel(share=0.0, vectors=0)"}),
        ("path_kernel.share=0", BAG, {"path_kernel": "PathKernel(share=0.0)"}),
        ("path_kernel.vectors=16", BAG, {"path_kernel": "PathKernel(vectors=16)"}),
        ("structure.tau=3 structure.order=2", BAG, {"structure": "Structure(order=2, tau=3.0)"}),
        ("pair_width=0", LINKS, {"pairs": "Pairs(width=0)"}),
        ("pairs.width=0 pairs.draw=joint", LINKS, {"pairs": "Pairs(draw='joint', width=0)"}),
        ("pairs.operator=hadamard", LINKS, {"pairs": "Pairs(operator='hadamard')"}),
        # An ensemble has heads of its own, those of its attention over learners; a single model has not.
        ("learner=gat learner.n_heads=4", BAG, {"learner": "GAT(heads=4)", "n_heads": "5"}),
        ("n_heads=2", find_model("gat"), {"learner": "GAT(heads=2)"}),
        ("learner.widths=8 training.patience=2", find_model("gcn"), {"learner": "GCN(widths=8)"}),
    ],
)
def test_words_reach_the_parameter_objects(words: str, entry: Entry, parameters: dict[str, str]) -> None:
    made = entry.make(None, **parse_settings(words.split(), entry))
    given = made.get_params(deep=False)
    assert {name: repr(given[name]) for name in parameters} == parameters


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "learner=gta",
            r"must be one of 'auto', 'sage', .*'gatv2'\. Got 'gta' instead; did you mean 'gat'\?$",
        ),
        ("learner=sage,gta", r"'learner=sage,gta': .* did you mean 'gat'\?$"),
        ("learner=", "is empty; name at least one learner"),
        ("learner=torch", "'torch' is for Python only, .*TorchLearner"),
        (
            "learner=gat fan_outs=8,2",
            "'fan_outs=8,2': GAT has no 'fan_outs'; there are .*heads.* SAGE, GIN$",
        ),
        ("fan_outs=8,2 learner=gat,gcn", "'fan_outs=8,2': GAT, GCN have no 'fan_outs'"),
        ("heads=4", "'heads=4': SAGE has no 'heads'; .*; it is a parameter of GAT, GATv2$"),
        ("aggregator=gin learner=gat", "'aggregator=gin': GAT has no 'aggregator'"),
        ("in_channels=3", "dge-bag has no 'in_channels'; there are"),
        ("learner=gat learner.head=4", r"learner has no 'head'; there are .*did you mean 'heads'\?$"),
        ("training.widths=3", "training has no 'widths'; .*; learner has one: learner.widths$"),
        ("trainig.patience=3", r"no group 'trainig'; there are learner, .*did you mean 'training'\?$"),
        ("pairs.width=3", "no group 'pairs'; there are learner, training, structure, path_kernel$"),
        ("training.checkpoint=x", "checkpoint is not set here"),
        ("training.max_epochs=x", "'training.max_epochs=x': max_epochs of dge-bag must be none or a whole"),
        ("n_layers=x", "n_layers of dge-bag must be a whole number"),
    ],
)
def test_wrong_learners_and_groups_are_one_clear_line(words: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        parse_settings(words.split(), BAG)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("--set '")


def test_a_single_model_has_the_learner_of_its_name() -> None:
    with pytest.raises(ParameterError, match="the name 'gcn' decides learner; choose another --model"):
        parse_settings(["learner=gat"], find_model("gcn"))
    with pytest.raises(ParameterError, match="honem has no 'learner'; there are"):
        parse_settings(["learner=gat"], find_model("honem"))
    with pytest.raises(ParameterError, match=r"decides learner; dge-bag:learner=\.\.\. sets it for dge-bag"):
        parse_settings(["learner=gat"], find_model("gcn"), [BAG, find_model("gcn")])


def test_the_papers_grid_has_what_the_learner_has() -> None:
    given = parse_settings(["learner=gat"], BAG)
    space = paper_space(BAG, given)
    assert "samples" in space.left_out
    assert "samples" in paper_space(BAG).dimensions
    point = {name: choices[0] for name, choices in space.dimensions.items()}
    assert BAG.make(None, **{**space.settings(BAG, point), **given}).learner.kind == "gat"


def test_configurations_tell_learners_apart() -> None:
    gat = ModelSpec(BAG, parse_settings(["learner=gat", "heads=4"], BAG)).configuration()
    assert (gat["learner"], gat["heads"], gat["widths"]) == ("gat", 4, [128])
    assert not {"fan_outs", "aggregator", "alpha", "in_channels"} & set(gat)
    mixed = ModelSpec(BAG, parse_settings(["learner=sage,gcn", "dropout=0.5"], BAG)).configuration()
    assert (mixed["learner"], mixed["edge_power"], mixed["gcn.edge_power"]) == ("sage+gcn", 0.5, 0.25)
    assert mixed["hidden_dropout"] == 0.5
    assert "gcn.hidden_dropout" not in mixed
    # These differ in the second learner alone.
    narrow = ModelSpec(BAG, {"learner": [SAGE(), GCN(widths=(64, 128))]}).configuration()
    assert narrow != ModelSpec(BAG, {"learner": [SAGE(), GCN()]}).configuration()
    assert narrow["gcn.widths"] == [64, 128]


def test_a_single_graphsage_is_recorded_as_it_is_trained() -> None:
    assert ModelSpec(find_model("graphsage")).configuration()["mask_self"] is False
    assert ModelSpec(BAG, {"learner": "sage"}).configuration()["mask_self"] is True
    # Learners that are selected have no parameters before a fit.
    chosen = ModelSpec(BAG).configuration()
    assert chosen["learner"] == "auto"
    assert not {"mask_self", "widths", "edge_power"} & set(chosen)


def test_several_settings_after_one_option() -> None:
    given = ["--set", "a.b=1", "dge-bag*:b=2", "x/y=3.hon", "c=4", "--set", "d=5"]
    expected = ["--set", "a.b=1", "--set", "dge-bag*:b=2", "x/y=3.hon", "c=4", "--set", "d=5"]
    assert spread_settings(given) == expected


def test_features_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("node,x,y\n007,1,2.5\nNA,3,4\n")
    table = parse_settings([f"features={tmp_path / 'f.csv'}"], BAG)["features"]
    assert table.index.tolist() == ["007", "NA"]
    assert table.to_numpy().tolist() == [[1.0, 2.5], [3.0, 4.0]]
    pd.DataFrame({"node": [1, 2], "x": [0.5, 1.5]}).to_parquet(tmp_path / "f.parquet")
    table = parse_settings([f"features={tmp_path / 'f.parquet'}"], BAG)["features"]
    assert table.index.tolist() == ["1", "2"]
    assert parse_settings(["features=none"], BAG) == {"features": None}
    (tmp_path / "bad.csv").write_text("node,x\na,one\n")
    with pytest.raises(FormatError, match=r"bad.csv: features must be a table with the node first"):
        parse_settings([f"features={tmp_path / 'bad.csv'}"], BAG)
    with pytest.raises(MissingFileError, match=r"none.csv: no such file; features=FILE"):
        parse_settings([f"features={tmp_path / 'none.csv'}"], BAG)
