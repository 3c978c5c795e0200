"""The test pairs of an evaluation on links, kept with its run: every model was asked about the same ones.

In: pairs of names, each linked or drawn in one of the ways to draw unlinked ones. Out: a file
``RUN/test_pairs/<digest>.json`` per repetition, and the same read back, checked. The digest is that of the
records of the run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from honlearn.errors import FormatError
from honlearn.results.checked import named_pairs
from honlearn.results.record import NAME
from honlearn.results.records import digest_of
from honlearn.stored import Fields, read_json
from honlearn.writing.atomic import atomic_text

FOLDER = "test_pairs"
KINDS = ("linked", "uniform", "degree")
_ADVICE = "remove it, and evaluate writes it again"
Named = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LinkTest:
    """Test pairs by name, and the kind of each: ``"linked"``, or how an unlinked pair was drawn."""

    pairs: Named
    kinds: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The digest by which records name this test; linked and uniform pairs as ever by names alone."""
        if "degree" not in self.kinds:
            return digest_of(list(self.pairs))
        return digest_of([list(self.pairs), list(self.kinds)])

    def of_kind(self, kind: str) -> Named:
        """Return the pairs of one kind."""
        return tuple(pair for pair, mine in zip(self.pairs, self.kinds, strict=True) if mine == kind)


def pairs_path(run: str | Path, digest: str) -> Path:
    """Return the file of the test with this digest."""
    return Path(run) / FOLDER / f"{digest}.json"


def keep_test(run: str | Path, test: LinkTest) -> None:
    """Write a test, unless it is there; what is there must be the same."""
    path = pairs_path(run, test.digest)
    if path.exists():
        read_test(run, test.digest)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[list[str]]] = {kind: [] for kind in KINDS}
    for pair, kind in zip(test.pairs, test.kinds, strict=True):
        found[kind].append(list(pair))
    with atomic_text(path) as file:
        json.dump({kind: pairs for kind, pairs in found.items() if pairs}, file, ensure_ascii=False)


def read_test(run: str | Path, digest: str) -> LinkTest | None:
    """Return the test with this digest, checked by it; None where it was not kept."""
    path = pairs_path(run, digest)
    if not NAME.fullmatch(digest) or not path.exists():
        return None
    found = Fields(read_json(path, advice=_ADVICE), str(path), advice=_ADVICE)
    found.only(*KINDS)
    pairs: list[tuple[str, str]] = []
    kinds: list[str] = []
    for kind in KINDS:
        mine = named_pairs(found, kind) if found.has(kind) else []
        pairs += mine
        kinds += [kind] * len(mine)
    test = LinkTest(tuple(pairs), tuple(kinds))
    if test.digest != digest:
        raise FormatError(f"{path}: damaged (its pairs are not those that the records name); {_ADVICE}")
    return test
