"""Networks for tests: the paper's Figure 1, and strategies that draw networks with nasty names."""

from __future__ import annotations

from hypothesis import strategies as st

from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork

Edges = dict[tuple[str, str], float]

FIGURE: Edges = {
    ("A", "C|A"): 3,
    ("B", "C|B"): 1,
    ("C", "D"): 3,
    ("C", "E"): 1,
    ("C|A", "D"): 3,
    ("C|B", "E"): 1,
}

NASTY = (
    " ",
    "a b",
    " lead",
    "trail ",
    '"',
    "'",
    "%",
    "%20",
    "%7C",
    "\n",
    "a\tb",
    "\r\n",
    "#",
    "é",
    "日本",
    "<&>",
    "\\",
)
# Everything but the separator of labels and lone surrogates, which no file can hold.
_any = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs"]), min_size=1, max_size=5)
_xml = st.text(
    st.characters(
        exclude_characters="|\ufffe\uffff", exclude_categories=["Cs", "Cc"], include_characters="\n\r\t"
    ),
    min_size=1,
    max_size=5,
)


def network(edges: Edges) -> HigherOrderNetwork:
    return from_edges([a for a, _ in edges], [b for _, b in edges], list(edges.values()))


def names(*, xml: bool = False) -> st.SearchStrategy[str]:
    return st.sampled_from(NASTY) | (_xml if xml else _any)


@st.composite
def edge_lists(
    draw: st.DrawFn, entity: st.SearchStrategy[str] | None = None, fractions: bool = True
) -> Edges:
    """Draw distinct edges between labels of one to four entities from a small pool."""
    entity = st.sampled_from("ABCDEF") if entity is None else entity
    pool = draw(st.lists(entity, min_size=1, max_size=6, unique=True))
    label = st.lists(st.sampled_from(pool), min_size=1, max_size=4).map("|".join)
    weight: st.SearchStrategy[float] = st.integers(1, 2**52)
    if fractions and draw(st.booleans()):
        weight = st.floats(2**-20, 2**20)
    return draw(st.dictionaries(st.tuples(label, label), weight, min_size=1, max_size=20))
