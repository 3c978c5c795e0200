from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from honlearn.cli.settings import check_owners, parse_settings, spread_settings
from honlearn.errors import FormatError, MissingFileError, ParameterError
from honlearn.experiments.registry import find_model

BAG = find_model("dge-bag")


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
        ("fan_outs=64", (64,)),
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


def test_several_settings_after_one_option() -> None:
    given = ["--set", "a=1", "dge-bag*:b=2", "x/y=3.hon", "c=4", "--set", "d=5"]
    expected = ["--set", "a=1", "--set", "dge-bag*:b=2", "x/y=3.hon", "c=4", "--set", "d=5"]
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
