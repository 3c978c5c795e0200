"""The hash table: numbers as a dictionary gives them, whatever the keys and however often it grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honlearn.hash_table import FREE, HashTable, doubled, empty_slots, find_slot, home_slot, next_slot
from honlearn.mixing import GOLDEN

KEYS = st.integers(0, 2**64 - 1) | st.integers(0, 5) | st.sampled_from([2**63, 2**64 - 1])
SLOTS = len(empty_slots(np.int32)[0])


def by_dictionary(keys: list[int]) -> list[int]:
    numbers: dict[int, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


@given(st.lists(st.lists(KEYS, max_size=30), max_size=5))
def test_numbers_are_those_of_a_dictionary(batches: list[list[int]]) -> None:
    table = HashTable(np.int32)
    found = [table.number(np.array(batch, np.uint64)).tolist() for batch in batches]
    keys = [key for batch in batches for key in batch]
    assert [number for batch in found for number in batch] == by_dictionary(keys)
    assert table.keys_by_number().tolist() == list(dict.fromkeys(keys))
    assert len(table) == len(set(keys))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_table_grows_in_the_middle_of_a_batch(dtype: type[np.int32] | type[np.int64]) -> None:
    keys = np.random.default_rng(0).integers(0, 30_000, 100_000).astype(np.uint64)
    table = HashTable(dtype)
    numbers = table.number(keys)
    assert numbers.dtype == dtype
    assert numbers.tolist() == by_dictionary(keys.tolist())
    np.testing.assert_array_equal(table.keys_by_number()[numbers], keys)
    np.testing.assert_array_equal(table.number(keys[::-1].copy()), numbers[::-1])


def test_keys_with_the_same_home_are_told_apart_across_the_last_slot() -> None:
    # GOLDEN is odd, so each product has one key; small products are their own home.
    inverse = pow(int(GOLDEN), -1, 2**64)
    homes = [SLOTS - 2] * 3 + [SLOTS - 1] * 2 + [0]
    products = [home | (i + 1) << 12 for i, home in enumerate(homes)]
    keys = np.array([product * inverse % 2**64 for product in products], np.uint64)
    empty, numbers = empty_slots(np.int32)
    assert [int(home_slot(key, empty)) for key in keys] == homes
    table = HashTable(np.int32)
    assert table.number(keys).tolist() == list(range(6))
    assert table.number(keys[::-1].copy()).tolist() == list(range(6))[::-1]
    assert int(next_slot(np.uint64(SLOTS - 1), empty)) == 0
    numbers[SLOTS - 1], numbers[0] = 0, 1
    assert int(find_slot(np.uint64(SLOTS - 1), np.uint64(9), empty, numbers)) == 1


def test_doubling_keeps_equal_keys_apart() -> None:
    # A table of names may hold two names with one key: each keeps its own slot.
    keys, numbers = empty_slots(np.int32)
    slot = int(home_slot(np.uint64(77), keys))
    for number in range(3):
        place = (slot + number) % len(keys)
        keys[place], numbers[place] = 77, number
    keys, numbers = doubled(keys, numbers)
    assert len(keys) == 2 * SLOTS
    assert sorted(numbers[numbers != FREE].tolist()) == [0, 1, 2]
    assert (keys[numbers != FREE] == 77).all()
