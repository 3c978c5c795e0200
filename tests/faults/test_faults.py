"""The kill harness, bounded: some kills, a full disk and a read-only one; ``make faults`` does the rest."""

from __future__ import annotations

import pytest
from harness import faults


def test_killed_commands_and_full_disks_lose_nothing() -> None:
    tally, reasons = faults(kills=3, disks=1, seed=1, names=["grow", "report"], paths=300_000)
    assert tally.kills >= 3
    assert tally.seen["grow ended with the same result"] >= 1
    assert tally.seen["report ended with the same result"] >= 1
    if reasons:
        pytest.skip(reasons[0])
    for name in ("grow", "report"):
        assert tally.seen[f"{name} refused a read-only disk"] == 1
    assert tally.seen["report read from a read-only disk"] == 1
