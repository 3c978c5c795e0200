"""May results of ``learn`` be written to a folder? Nothing of somebody else is to lie among them.

In: the folder that was named. Out: nothing, or an error that says what to do, before anything is read.
"""

from __future__ import annotations

from pathlib import Path

from honlearn.errors import InputError, listed
from honlearn.writing.atomic import check_writable, is_draft


def check_folder(folder: Path) -> None:
    """Raise unless results may be written to `folder`: new, empty, or with results of learn."""
    check_writable(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: there is a file of this name; name a folder")
    if not folder.exists():
        if not folder.parent.is_dir():
            raise InputError(f"{folder}: there is no folder {folder.parent}; make it first")
        return
    own = {"predictions.csv", "links.csv", "memory.csv", "communities.csv", "model", "run", "network.hon"}
    own |= {"report.html"}
    # A kill may have left drafts, which the next file that is written removes.
    foreign = sorted(p.name for p in folder.iterdir() if p.name not in own and not is_draft(p.name))
    if foreign:
        raise InputError(
            f"{folder}: there are files of something else in it ({listed(foreign, 3)}); name a new folder"
        )
