"""What the answers of a fit must be, so that pages and figures may rely on them.

In: the values beside the arrays of an artefact. Out: which arrays belong to them, of which kinds and shapes,
or an error that says what was got.
"""

from __future__ import annotations

from honlearn.errors import FormatError
from honlearn.results.record import LARGEST
from honlearn.stored import Fields, Spec, shown


def check_answers(about: Fields, task: str) -> tuple[dict[str, Spec], dict[str, Spec]]:
    """Return the arrays that answers with these names must have, and those that they may have."""
    if about.has("history"):
        for row in about.mappings("history"):
            _check_epoch(row)
    if task == "links":
        count, new = len(named_pairs(about, "pairs")), 0
        if about.has("new_pairs"):
            new = len(named_pairs(about, "new_pairs"))
        fresh: Spec = ("f", (new,))
        return {"truth": ("iub", (count,)), "linked": ("f", (count,))}, {
            "members": ("f", ("learners", count)),
            "kinds": ("iu", (count,)),
            "new_linked": fresh,
            "new_disagreement": fresh,
        }
    classes, nodes = about.texts("classes"), about.texts("nodes")
    strange = set(about.texts("truth", len(nodes))) - set(classes)
    if strange or len(set(classes)) < len(classes) or not nodes:
        what = f"{shown(min(strange))} is no class" if strange else "no nodes, or a class twice"
        raise FormatError(f"{about.where}: damaged ({what}); {about.advice}")
    if about.has("reasons"):
        for one in about.mappings("reasons"):
            check_explanation(one, set(nodes), classes)
    whole: Spec = ("f", ("learners", len(nodes), len(classes)))
    return {"proba": ("f", (len(nodes), len(classes)))}, {
        "members": whole,
        "drawn": whole,
        "relatives": ("iu", ("learners", len(nodes))),
        "p_values": ("f", (len(nodes), len(classes))),
    }


KINDS = ("memory", "neighbor", "path", "example")


def check_explanation(one: Fields, nodes: set[str], classes: list[str]) -> None:
    """Raise unless this is the explanation of a prediction for one of the nodes."""
    one.only("node", "label", "probability", "references", "reasons")
    one.text("node", nodes)
    one.text("label", classes)
    one.number("probability", -0.001, 1.001)
    references = one.mapping("references")
    for name in references.values:
        references.number(name, -0.001, 1.001)
    for reason in one.mappings("reasons"):
        reason.only("kind", "name", "value", "without", "support")
        reason.text("kind", KINDS)
        reason.text("name")
        reason.text("support")
        reason.number("without", -0.001, 1.001)
        if reason.has("value"):
            reason.number("value", -1.001, 1.001)


def named_pairs(about: Fields, key: str) -> list[tuple[str, str]]:
    """Return a list of pairs of names, or raise a FormatError."""
    pairs = about.items(key)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise FormatError(
                f"{about.where}: {key!r} must be pairs of names. Got {shown(pair)} instead; {about.advice}"
            )
    return [(pair[0], pair[1]) for pair in pairs]


def _check_epoch(row: Fields) -> None:
    for name in row.values:
        if name == "phase":
            row.text(name)
        elif row.has(name):
            row.number(name, -LARGEST, LARGEST)
