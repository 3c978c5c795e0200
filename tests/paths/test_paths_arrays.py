"""Arrays that compiled loops trust are checked where paths are made, whoever makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from honlearn.errors import InputError, ParameterError
from honlearn.hon.build import count_grams
from honlearn.paths.paths import Paths
from honlearn.paths.source import read_paths
from honlearn.paths.vocabulary import Vocabulary

GOOD: dict[str, Any] = {"codes": [0, 1, 0], "offsets": [0, 2, 3], "counts": [1, 2]}


def made(**changed: Any) -> Paths:
    arrays = {**GOOD, **changed}
    codes, offsets = np.array(arrays["codes"], np.int32), np.array(arrays["offsets"], np.int64)
    names = Paths.from_lists([["a", "b"]]).vocabulary
    return Paths(codes, offsets, names, np.array(arrays["counts"], np.int64))


def test_whole_arrays_are_taken() -> None:
    assert made().total == 3


def test_steps_are_moves_and_count_as_often_as_their_path() -> None:
    paths = Paths.from_lists([["a", "b", "c"], ["a"], ["b", "a"]], counts=[10, 5, 1])
    assert paths.n_steps == 21
    assert repr(paths) == "Paths(16 paths in 3 rows with counts, 21 steps, 3 entities)"
    assert "21" in paths._repr_html_()
    assert Paths.from_lists([["a", "b"] * 3], counts=[2**62]).n_steps == 5 * 2**62


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"counts": [1, -2]}, "path 1: count -2"),
        ({"counts": [1]}, "2 paths but 1 counts"),
        ({"counts": [2**62, 2**62]}, r"paths: the counts add up to more than 2\*\*62 paths"),
        ({"codes": [0, 2, 0]}, "places in the vocabulary"),
        ({"codes": [0, -1, 0]}, "places in the vocabulary"),
        ({"offsets": [0, 2, 4]}, "must ascend from 0 to 3"),
        ({"offsets": [0, 5, 3]}, "must ascend from 0 to 3"),
        ({"offsets": [1, 2, 3]}, "must ascend from 0 to 3"),
        ({"offsets": []}, "must ascend from 0 to 3"),
    ],
)
def test_arrays_that_lie_are_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        made(**changed)


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ([0, 2**32, 0], "codes of entities must fit 32 bits. Got 0 to 4294967296 instead"),
        ([0.0, np.nan, 1.0], "codes of entities must be whole numbers"),
        ([0.0, np.inf, 1.0], "codes of entities must be whole numbers"),
        ([0.0, 0.5, 1.0], "codes of entities must be whole numbers. Got values of type float64 instead"),
    ],
)
def test_numbers_are_not_cut_to_fit(codes: list[Any], told: str) -> None:
    names = made().vocabulary
    with pytest.raises(InputError, match=told):
        Paths(np.array(codes), np.array([0, 3]), names)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=told):
        count_grams(made()).steps().score_codes(np.array(codes), np.array([0, 3]))  # type: ignore[arg-type]
    assert Paths(np.array([0, 1], np.uint8), np.array([0, 2], np.int32), names)[0] == ("a", "b")  # type: ignore[arg-type]


def test_a_vocabulary_has_each_name_once_and_as_text() -> None:
    with pytest.raises(InputError, match="a vocabulary holds each name once"):
        Vocabulary.from_names(["a", "b", "a"])
    with pytest.raises(InputError, match=r"the name 'a\\udcff' is not valid Unicode"):
        Vocabulary.from_names(["a\udcff"])


def test_paths_have_counts_of_their_own() -> None:
    paths = Paths.from_lists([["a", "b"], ["b"]])
    with pytest.raises(ParameterError, match="have their own counts; leave out counts"):
        read_paths(paths, counts=[1, 2])
    assert read_paths([["a", "b"], ["b"]], counts=iter([3, 4])).counts.tolist() == [3, 4]
    with pytest.raises(IndexError, match="row 2 of 2 paths"):
        paths[2]
