"""Weights of groups side by side: in memory or on disk, the same; where disks are memory, in memory."""

from __future__ import annotations

import pytest
import torch

from honlearn.ensemble import stacked_states
from honlearn.ensemble.memory import resident_memory
from honlearn.ensemble.stacked_states import StackedStates

ROWS = 1 << 16


def group(first: int, size: int) -> dict[str, torch.Tensor]:
    learners = torch.arange(first, first + size, dtype=torch.float32)
    return {"table": learners[:, None, None] + torch.arange(16.0).expand(size, ROWS, 16), "bias": learners}


@pytest.mark.parametrize("is_short", [False, True])
def test_groups_are_put_side_by_side(is_short: bool) -> None:
    stacked, given = StackedStates(3, is_short), group(0, 2)
    stacked.append(given)
    stacked.append({})
    stacked.append(group(2, 1))
    whole = stacked.whole()
    assert given == {}
    assert list(stacked._on_disk) == (["table"] if is_short else [])
    assert all(torch.equal(whole[name], tensor) for name, tensor in group(0, 3).items())
    whole["table"][0, 0] = 7
    assert whole["table"][0, :2, 0].tolist() == [7, 0]


def test_what_waits_on_disk_takes_no_memory() -> None:
    stacked = StackedStates(8, True)
    stacked.append(group(0, 1))
    before = resident_memory()
    for learner in range(1, 8):
        stacked.append(group(learner, 1))
    whole = stacked.whole()
    size = whole["table"].numel() * 4
    assert resident_memory() - before < size / 3
    assert whole["table"][5, 9, 3].item() == 8


def test_without_room_on_a_disk_weights_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked_states, "room", lambda: 0)
    stacked = StackedStates(2, True)
    stacked.append(group(0, 1))
    stacked.append(group(1, 1))
    assert not stacked._on_disk
    assert torch.equal(stacked.whole()["table"], group(0, 2)["table"])
