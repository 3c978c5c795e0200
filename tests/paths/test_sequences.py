"""Sequence ids get the numbers of their first appearance, however they arrive."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honlearn.errors import InputError
from honlearn.paths import sequences
from honlearn.paths.sequences import SequenceNumbers

whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 30)
batch = (
    st.lists(whole).map(lambda ids: pa.array(ids, pa.int64()))
    | st.lists(whole).map(lambda ids: pa.array(sorted(ids), pa.int64()))
    | st.lists(st.integers(0, 2**62)).map(lambda ids: pa.array(sorted(ids)).cast(pa.string()))
    | st.lists(st.integers(0, 30)).map(lambda ids: pa.array(ids, pa.float64()))
    | st.lists(st.integers(0, 2**64 - 1)).map(lambda ids: pa.array(ids, pa.uint64()))
    | st.lists(st.sampled_from(["", "007", "7", "-1", "x", "longer than eight"])).map(pa.array)
    | st.lists(whole.map(str)).map(lambda ids: pa.array(ids, pa.string()).dictionary_encode())
)


def as_ids(array: pa.Array) -> list[str]:
    return [str(int(x)) if isinstance(x, float) else str(x) for x in array.to_pylist()]


@given(st.lists(batch, max_size=6))
@settings(max_examples=200, deadline=None)
def test_numbers_go_by_first_appearance(batches: list[pa.Array]) -> None:
    numbers = SequenceNumbers()
    known: dict[str, int] = {}
    for array in batches:
        expected = [known.setdefault(id_, len(known)) for id_ in as_ids(array)]
        typed = array.cast(pa.string()) if pa.types.is_null(array.type) else array
        assert numbers.number(typed).tolist() == expected
    assert len(numbers) == len(known)


@pytest.mark.parametrize("turn", [0, 1, 5000])
def test_many_ascending_ids_and_then_one_that_is_not(turn: int) -> None:
    ids = np.repeat(np.arange(10**12, 10**12 + 30_000), 3)
    numbers = SequenceNumbers()
    for part in np.array_split(ids, 7):
        numbers.number(pa.array(part))
    assert numbers.number(pa.array([10**12 + turn, 5, 10**12 + 29_999])).tolist() == [turn, 30_000, 29_999]
    assert numbers.number(pa.array(["x", "5"])).tolist() == [30_001, 30_000]


@pytest.mark.parametrize("ids", [["1", "2", "3"], ["3", "2", "1"], ["a", "b", "c"]])
def test_more_ids_than_numbers_are_refused(ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "_MOST", 2)
    numbers = SequenceNumbers()
    assert numbers.number(pa.array(ids[:2])).tolist() == [0, 1]
    with pytest.raises(InputError, match="more than 2 different ids of sequences; divide the table"):
        numbers.number(pa.array(ids).dictionary_encode())
