"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a property compiles its kernels; a deadline would only measure the compiler.
settings.register_profile("honlearn", deadline=None)
settings.load_profile("honlearn")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; absent on most machines."""
    if not (SHARED / "data").is_dir():
        pytest.skip("needs the reference data in ../shared, which this machine does not have")
    return SHARED
