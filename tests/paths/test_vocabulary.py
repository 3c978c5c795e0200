"""Names by code: their canonical order is that of their UTF-8 bytes, and some can be taken out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honlearn.paths import vocabulary
from honlearn.paths.vocabulary import Vocabulary

NAMES = st.lists(st.text(st.sampled_from("ab\0é日"), max_size=14), unique=True, max_size=12)


@settings(deadline=None)
@given(NAMES, st.booleans())
def test_names_are_sorted_by_their_bytes(names: list[str], long: bool) -> None:
    names = [*names, "b" * 40] if long else names
    encoded = [name.encode() for name in names]
    expected = sorted(range(len(names)), key=encoded.__getitem__)
    assert Vocabulary.from_names(names).sorted_codes().tolist() == expected


def test_names_are_taken_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "_SLICE", 7)
    names = Vocabulary.from_names(["", "é", *map(str, range(98))])
    order = np.random.default_rng(0).permutation(100)[:60]
    assert names.take(order).names == tuple(names.names[i] for i in order)
    assert names.take(order[:0]).names == ()
