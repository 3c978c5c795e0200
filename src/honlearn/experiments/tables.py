"""A table as a value, written as Markdown, LaTeX and CSV.

In: columns, rows of text for readers, and the same facts as plain records for programs. Out: three files. The
CSV has one line for each number with everything that is known of it; the other two are for the eye.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from honlearn.writing.atomic import atomic_text

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "≤": r"$\leq$",
    "–": "--",
    "|": r"$|$",
    "Δ": r"$\Delta$",
}


@dataclass(frozen=True)
class Table:
    """A title, columns, rows of cells, notes below, and `facts`: one dictionary for each number."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    facts: Sequence[Mapping[str, Any]] = field(default_factory=list)
    left: int = 2

    def markdown(self) -> str:
        """Return the table in Markdown, aligned for those who read the source.

        >>> print(Table("t", "Sizes", ["name", "nodes"], [["Wiki", "4,179"]], left=1).markdown())
        **Sizes**
        <BLANKLINE>
        | name | nodes |
        |------|------:|
        | Wiki | 4,179 |
        """
        cells = [[_in_markdown(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(self.columns))]
        lines = [self._line(row, widths) for row in cells]
        rule = (
            "-" * (width + 2) if i < self.left else "-" * (width + 1) + ":" for i, width in enumerate(widths)
        )
        lines.insert(1, "|" + "|".join(rule) + "|")
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([f"**{self.title}**", "", *lines, *notes])

    def head(self, n: int) -> Table:
        """Return the first `n` rows, without notes."""
        return replace(self, rows=self.rows[:n], notes=())

    def select(self, columns: Sequence[str]) -> Table:
        """Return some of the columns."""
        places = [list(self.columns).index(name) for name in columns]
        rows = [[row[place] for place in places] for row in self.rows]
        return replace(self, columns=list(columns), rows=rows)

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            cell.ljust(width) if i < self.left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    def latex(self) -> str:
        """Return the table in LaTeX, with the rules of booktabs."""
        shape = "l" * self.left + "r" * (len(self.columns) - self.left)
        head = " & ".join(in_latex(column) for column in self.columns)
        body = [" & ".join(in_latex(cell) for cell in row) + r" \\" for row in self.rows]
        notes = [rf"\par\footnotesize {in_latex(note)}" for note in self.notes]
        return "\n".join(
            [
                "% needs \\usepackage{booktabs}",
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{in_latex(self.title)}}}",
                rf"\label{{tab:{self.name}}}",
                rf"\begin{{tabular}}{{{shape}}}",
                r"\toprule",
                rf"{head} \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                *notes,
                r"\end{table}",
            ]
        )

    def csv(self) -> str:
        """Return the facts as CSV; without any, the rows as they are shown."""
        out = io.StringIO()
        if not self.facts:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerows([self.columns, *self.rows])
            return out.getvalue()
        names = list(dict.fromkeys(name for fact in self.facts for name in fact))
        named = csv.DictWriter(out, names, lineterminator="\n")
        named.writeheader()
        named.writerows(self.facts)
        return out.getvalue()

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``NAME.md``, ``NAME.tex`` and ``NAME.csv`` to a folder and return them."""
        root = Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        texts = {".md": self.markdown() + "\n", ".tex": self.latex() + "\n", ".csv": self.csv()}
        for ending, text in texts.items():
            with atomic_text(root / f"{self.name}{ending}") as file:
                file.write(text)
        return [root / f"{self.name}{ending}" for ending in texts]


def in_latex(text: str) -> str:
    r"""Return text with what LaTeX would read as a command escaped.

    >>> in_latex("DGE-bag* & 5 %")
    'DGE-bag* \\& 5 \\%'
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _in_markdown(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def spread(mean: float | None, deviation: float | None, digits: int = 3) -> str:
    """Return mean ± deviation, the mean alone, or a dash.

    >>> spread(0.71, 0.011), spread(0.5, None), spread(None, None)
    ('0.710 ± 0.011', '0.500', '–')
    """
    if mean is None:
        return "–"
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign, a true minus.

    >>> signed(-0.0213)
    '−0.021'
    """
    shown = f"{value:+.{digits}f}"
    return f"{0:.{digits}f}" if float(shown) == 0 else shown.replace("-", "−")


def as_printed(mean: float, deviation: float | None) -> str:
    """Return a published value with the digits that the paper prints: three, and two for the deviation.

    >>> as_printed(0.681, 0.0)
    '0.681 ± 0.00'
    """
    return f"{mean:.3f}" + ("" if deviation is None else f" ± {deviation:.2f}")


def p_text(value: float | None) -> str:
    """Return a p-value in three digits, or a dash."""
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
