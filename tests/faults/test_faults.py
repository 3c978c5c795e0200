"""The kill harness, bounded: a few kills of every quick command, and one full and one read-only disk each."""

from __future__ import annotations

import pytest
from harness import faults


def test_killed_commands_lose_nothing() -> None:
    tally, _ = faults(kills=3, disks=0, seed=1, names=["grow", "evaluate"])
    assert tally.kills >= 3
    assert tally.seen["grow ended with the same result"] >= 1


def test_full_and_read_only_disks_lose_nothing() -> None:
    tally, reasons = faults(kills=0, disks=1, seed=2, names=["report"])
    if reasons:
        pytest.skip(reasons[0])
    assert tally.seen["report refused a read-only disk"] == 1
    assert tally.seen["report read from a read-only disk"] == 1
