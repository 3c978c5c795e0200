"""Wikispeedia: click paths of players who try to get from one Wikipedia article to another by its links.

In: the publisher's archive (SNAP; downloaded once, or given), or its unpacked folder. Out: a
:class:`Dataset` of all finished, then all unfinished games, labelled by subject as in the paper. No licence
is stated, so honlearn fetches the data and does not ship them.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from honlearn.datasets.dataset import Dataset
from honlearn.datasets.download import DownloadError, fetch
from honlearn.errors import FormatError, InputError, MissingFileError, check_choice, listed
from honlearn.paths.paths import Paths

if TYPE_CHECKING:
    import pandas as pd

URL = "https://snap.stanford.edu/data/wikispeedia/wikispeedia_paths-and-graph.tar.gz"
LICENCE = "none stated; for research, from its publisher"
SOURCE = "SNAP, https://snap.stanford.edu/data/wikispeedia.html (West & Leskovec 2012)"
FINISHED, UNFINISHED, CATEGORIES = "paths_finished.tsv", "paths_unfinished.tsv", "categories.tsv"
BACK_RULES = ("published", "stack")

_MERGED = {
    "Design_and_Technology": "Technology",
    "IT": "Technology",
    "Language_and_literature": "Culture",
    "Religion": "Culture",
    "Music": "Culture",
    "Art": "Culture",
    "Mathematics": "Science",
    "Business_Studies": "Economics",
}


def wikispeedia(
    folder: str | os.PathLike[str] | None = None,
    *,
    unfinished: bool = True,
    back: str = "published",
    sha256: str | None = None,
    timeout: float = 30.0,
) -> Dataset:
    """Return the Wikispeedia games; `folder` is the archive or its unpacked folder, None downloads it.

    `back` says what a back click ``<`` becomes: ``"published"`` the article two places back in the sequence
    written so far, as in the paper's graphs (A, B, <, < gives A, B, A, B); ``"stack"`` what a browser shows
    (A, B, C, <, < gives A, B, C, B, A). `sha256` is the checksum that the archive must have; without it
    the one seen at the first download is kept and checked from then on.

    Parameters
    ----------
    folder
        The archive or its unpacked folder; None downloads it.
    unfinished
        Whether games that were given up are read.
    back
        What a back click becomes.
    sha256
        Expected of the download.
    timeout
        Seconds for an answer.
    """
    check_choice("wikispeedia", "back", back, BACK_RULES)
    names = (FINISHED, UNFINISHED, CATEGORIES)
    lines = _Lines(_local(folder, sha256, timeout))
    files = {name: list(lines.of(name)) for name in (names if unfinished else (FINISHED, CATEGORIES))}
    tally: Counter[str] = Counter()
    games = [
        path
        for name in files
        if name != CATEGORIES
        for path in _games(f"{lines.root}/{name}", files[name], back, tally)
    ]
    if not games:
        raise InputError(f"{lines.root}: no game in {FINISHED} or {UNFINISHED}; check the files")
    paths = Paths.from_lists(games)
    categories = _categories(f"{lines.root}/{CATEGORIES}", files[CATEGORIES])
    nodes = _nodes(paths, categories)
    labels = {unquote(article): _subject(category) for article, category in categories.items()}
    return Dataset(
        "wikispeedia",
        paths,
        {node: labels[node] for node in nodes["node"] if node in labels},
        nodes,
        "Clicks of Wikispeedia players from article to article; classes are the articles' subjects",
        LICENCE,
        SOURCE,
        tally,
    )


def resolve_back_clicks(clicks: list[str], back: str = "published") -> tuple[list[str], int]:
    """Return the articles seen, every ``<`` replaced, and how many ``<`` had nowhere to go and were dropped.

    >>> resolve_back_clicks(["A", "B", "<", "<"])
    (['A', 'B', 'A', 'B'], 0)
    >>> resolve_back_clicks(["A", "B", "C", "<", "<", "D"], "stack")
    (['A', 'B', 'C', 'B', 'A', 'D'], 0)
    """
    seen: list[str] = []
    history: list[str] = []
    dropped = 0
    for click in clicks:
        if click != "<":
            history.append(click)
            seen.append(click)
        elif back == "published" and len(seen) > 1:
            seen.append(seen[-2])
        elif back == "stack" and len(history) > 1:
            history.pop()
            seen.append(history[-1])
        else:
            dropped += 1
    return seen, dropped


def _local(folder: str | os.PathLike[str] | None, sha256: str | None, timeout: float) -> Path:
    if folder is not None:
        return Path(folder)
    try:
        return fetch(URL, sha256=sha256, timeout=timeout)
    except DownloadError as error:
        raise DownloadError(
            f"{error}, or pass the archive or its unpacked folder: wikispeedia(folder), --from FOLDER"
        ) from error


class _Lines:
    """The lines of the files in an unpacked folder or in the archive, by file name."""

    def __init__(self, root: Path) -> None:
        if not root.exists():
            raise MissingFileError(f"{root}: no such archive or folder; check the name")
        self.root = root

    def of(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that are neither empty nor comments, each with its number."""
        if self.root.is_dir():
            file = next(iter(sorted(self.root.rglob(name))), None)
            if file is None:
                raise self._missing(name, (path.name for path in self.root.iterdir()))
            with file.open("rb") as stream:
                yield from self._decoded(name, stream)
            return
        try:
            with tarfile.open(self.root) as archive:
                members = {Path(member.name).name: member for member in archive if member.isfile()}
                if name not in members:
                    raise self._missing(name, members)
                member = archive.extractfile(members[name])
                assert member is not None  # a regular file has a stream
                yield from self._decoded(name, member)
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            if isinstance(error, MissingFileError):
                raise
            raise FormatError(
                f"{self.root}: damaged or not a tar archive ({error}); download it again"
            ) from None

    def _missing(self, name: str, there: Iterator[str] | dict[str, tarfile.TarInfo]) -> MissingFileError:
        return MissingFileError(
            f"{self.root}: no {name}, only {listed(sorted(there)) or 'nothing'}; give the archive "
            f"{URL.rsplit('/', 1)[-1]} or its unpacked folder (load_folder reads folders with paths.txt)"
        )

    def _decoded(self, name: str, stream: IO[bytes]) -> Iterator[tuple[int, str]]:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise FormatError(
                    f"{self.root}/{name}:{number}: not UTF-8; download the archive again"
                ) from None
            if line.strip() and not line.startswith("#"):
                yield number, line


def _games(where: str, lines: list[tuple[int, str]], back: str, tally: Counter[str]) -> Iterator[list[str]]:
    """Yield the articles of each game; the fourth column of both files holds the clicks."""
    for number, line in lines:
        columns = line.split("\t")
        if len(columns) < 4 or not columns[3]:
            raise FormatError(
                f"{where}:{number}: {len(columns)} columns and no clicks in the fourth; mend the line"
            )
        clicks = columns[3].split(";")
        if "" in clicks:
            raise FormatError(f"{where}:{number}: an empty article among the clicks; mend the line")
        seen, dropped = resolve_back_clicks(clicks, back)
        tally["back clicks"] += clicks.count("<")
        tally["back clicks dropped"] += dropped
        if seen:
            yield [unquote(article) for article in seen]


def _categories(where: str, lines: list[tuple[int, str]]) -> dict[str, str]:
    """Return the last category of each article; an article may have several, one per line."""
    categories = {}
    for number, line in lines:
        article, tab, category = line.partition("\t")
        if not tab or len(category.split(".")) < 2:
            raise FormatError(f"{where}:{number}: expected article, tab, subject.TOPIC…; got {line[:80]!r}")
        categories[article] = category.strip()
    return categories


def _subject(category: str) -> str:
    top = category.split(".")[1]
    return _MERGED.get(top, top)


def _nodes(paths: Paths, categories: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    known = {unquote(article): (article, category) for article, category in categories.items()}
    nodes = sorted(paths.vocabulary.names)
    facts = [known.get(node, ("", "")) for node in nodes]
    return pd.DataFrame(
        {
            "node": nodes,
            "name": [node.replace("_", " ") for node in nodes],
            "encoded": [article for article, _ in facts],
            "category": [category for _, category in facts],
        }
    )
