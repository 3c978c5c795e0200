"""Random bits by counter: the published sequence, and one formula for compiled code and for arrays."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import honlearn
from honlearn.jit import njit
from honlearn.mixing import GOLDEN, mix64, splitmix64, splitmix64_array

# The first numbers of the published generator, java.util.SplittableRandom, from the seed 1234567.
SEED = 1234567
PUBLISHED = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
WORDS = st.integers(0, 2**64 - 1)
WHOLE = (1 << 64) - 1


def by_hand(stream: int, place: int) -> int:
    """Return splitmix64 by Python's integers, which never overflow."""
    x = (stream + place * 0x9E3779B97F4A7C15) & WHOLE
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WHOLE
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WHOLE
    return x ^ (x >> 31)


@njit
def compiled(stream: NDArray[np.uint64], place: NDArray[np.uint64]) -> NDArray[np.uint64]:
    out = np.empty(len(place), np.uint64)
    for i in range(len(place)):
        out[i] = splitmix64(stream[i], place[i])
    return out


@njit
def walked(state: np.uint64, count: int) -> NDArray[np.uint64]:
    out = np.empty(count, np.uint64)
    for i in range(count):
        state += GOLDEN
        out[i] = mix64(state)
    return out


def test_the_published_sequence() -> None:
    places = np.arange(1, len(PUBLISHED) + 1, dtype=np.uint64)
    assert splitmix64_array(np.uint64(SEED), places).tolist() == PUBLISHED
    assert compiled(np.full(len(places), SEED, np.uint64), places).tolist() == PUBLISHED
    assert walked(np.uint64(SEED), len(PUBLISHED)).tolist() == PUBLISHED


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=20))
def test_compiled_code_and_arrays_give_the_same_bits(cases: list[tuple[int, int]]) -> None:
    stream, place = np.array(cases, np.uint64).T.copy()
    wanted = [by_hand(*case) for case in cases]
    assert compiled(stream, place).tolist() == wanted
    assert splitmix64_array(stream, place).tolist() == wanted
    assert [int(splitmix64_array(np.uint64(s), np.uint64(p))) for s, p in cases] == wanted


def test_arrays_broadcast_and_keep_their_type() -> None:
    bits = splitmix64_array(np.array([[1], [2]], np.uint64), np.arange(3, dtype=np.uint64))
    assert bits.dtype == np.uint64
    assert bits.tolist() == [[by_hand(s, p) for p in range(3)] for s in (1, 2)]


ROOT = Path(honlearn.__file__).parent


def test_the_constants_stand_in_one_module() -> None:
    constants = {0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB}
    holders = {
        (node.value, file.relative_to(ROOT).as_posix())
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value in constants
    }
    assert holders == {(constant, "mixing.py") for constant in constants}
