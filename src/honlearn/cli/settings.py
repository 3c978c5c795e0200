"""``--set key=value``: from words of the command line to keywords of an estimator.

In: words such as ``widths=128,128`` and an entry of the registry. Out: values of the types that the
estimator's signature names, so that a wrong word is one clear line and not an error deep in a fit.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import typer

from honlearn.errors import ParameterError, check_choice, did_you_mean, listed
from honlearn.experiments.keywords import Keywords, keywords_of
from honlearn.experiments.registry import Entry, model_names

_TRUE, _FALSE, _NONE = ("true", "yes", "on"), ("false", "no", "off"), ("none", "null")
_INSTEAD = {
    "random_state": "use --seed",
    "checkpoint": "the command keeps one itself",
    "executor": "use --executor",
}

Task = Annotated[
    str,
    typer.Option(
        "--task",
        metavar="nodes|links|next|paths",
        help="What is learnt: classes of nodes, links, next steps, or classes of whole paths.",
    ),
]
TrainTask = Annotated[
    str,
    typer.Option("--task", metavar="nodes|links|paths", help="Classes of nodes, links, or classes of paths."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Keywords of the model, e.g. n_learners=8 learner=gat learner.heads=4; NAME:key=value is for "
        "one model.",
    ),
]
# What scikit-learn's generators take, which make the folds.
MOST_SEED = 2**32 - 1
Seed = Annotated[int, typer.Option("--seed", min=0, max=MOST_SEED, help="Seed of all random choices.")]
LabelColumn = Annotated[
    str | None, typer.Option(help="Column of the classes; default: 'label', or the only other one.")
]
NodeColumn = Annotated[
    str | None, typer.Option(help="Column of the nodes (or ids of paths) in LABELS, if not the first.")
]
Labels = Annotated[
    Path | None,
    typer.Argument(
        metavar="LABELS",
        show_default=False,
        help="CSV: first column the node (or the id of a path), column 'label' its class. Links need none.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", metavar="N", min=1, help="Local processes; results do not depend on it.")
]
Executor = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="E",
        help="Where it runs, instead of --jobs: a number of local processes, ray, ray://HOST:PORT, dask or "
        "the address of its scheduler; the results are the same.",
        show_default=False,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List what would run and how long it may take; run nothing.")
]
NAMES = ", ".join(model_names())


def check_task(task: str, known: Sequence[str]) -> None:
    """Raise unless the command has this task."""
    if task not in known:
        raise ParameterError(
            f"--task must be one of {listed(known)}. Got {task!r} instead{did_you_mean(task, known)}"
        )


def check_input(word: str) -> None:
    """Raise unless the word, or the short key that records have for it, names the networks to compare."""
    from honlearn.results.networks import NETWORKS

    known = [*NETWORKS.values(), "both", "auto", "all"]
    if word not in known and word not in NETWORKS:
        raise ParameterError(
            f"--input must be one of {listed(known)}. Got {word!r} instead{did_you_mean(word, known)}"
        )


def needed_labels(labels: Path | None) -> Path:
    """Return the file of classes, or raise where none was named for a task that needs it."""
    if labels is None:
        raise ParameterError("--task nodes needs LABELS after NET: a CSV with the node and its class")
    return labels


def parse_settings(words: Iterable[str] | None, entry: Entry, others: Sequence[Entry] = ()) -> dict[str, Any]:
    """Return the keywords that `words` set for one model; the last of two words for a key counts.

    A word ``NAME:key=value`` is for the model of that name alone and left out for others. `others` take part
    too: an error tells which of them has a key that this one lacks.
    """
    from honlearn.tasks.nested import flat_name

    check_keys(words, entry, others)
    made, aliases = entry.estimator(), entry.aliases()
    settings: dict[str, Any] = {}
    given: dict[str, str] = {}
    for word, key, text in _own_words(words, entry):
        with _named(word):
            key = flat_name(made, key)
            hint = aliases[key] if key in aliases else _hint(made, key)
            settings[key] = _value(key, text, hint, entry)
        given[key] = word
    _check_learner(entry, settings, given)
    return settings


def check_keys(words: Iterable[str] | None, entry: Entry, others: Sequence[Entry] = ()) -> None:
    """Raise unless the model has every key, and the learner, that `words` set; torch is not imported."""
    from honlearn.tasks.flat_names import LEARNER, check_field

    for word, key, text in _own_words(words, entry):
        known = keywords_of(entry)
        group, dot, field = key.partition(".")
        with _named(word):
            if dot and known.groups:
                check_field(group, field, known.groups)
                if field in _INSTEAD:
                    raise ParameterError(_refusal(field, entry, known, others))
                continue
            there = key in known.names and key not in entry.decided and key not in _INSTEAD
            if key not in known.aliases and not there:
                raise ParameterError(_refusal(key, entry, known, others))
            if key == LEARNER:
                _check_learner_names(entry, _learner_names(text), known.learners)


def _own_words(words: Iterable[str] | None, entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Yield the words that are for this model, with their keys and values."""
    for word in words or ():
        key, equals, text = word.partition("=")
        owner, colon, key = key.strip().rpartition(":")
        if not equals or not key:
            raise ParameterError(f"--set {word!r} is not key=value; e.g. --set n_learners=8")
        if not colon or owner == entry.name or owner.replace("-shared", "*") == entry.name:
            yield word, key, text.strip()


def _learner_names(text: str) -> list[str]:
    """Return the names of learners in a value; records write several with + between."""
    return [part.strip().casefold() for part in re.split("[,+]", text) if part.strip()]


def _check_learner_names(entry: Entry, names: Sequence[str], known: Sequence[str]) -> None:
    from honlearn.tasks.flat_names import AUTO

    for name in names:
        if name != "torch":  # for Python only, which takes longer to tell
            check_choice(entry.name, "learner", name, [AUTO, *known] if len(names) == 1 else known)


@contextmanager
def _named(word: str) -> Iterator[None]:
    """Name the word of the command line in an error of what is done with it."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"--set {word!r}: {error}") from None


def _check_learner(entry: Entry, settings: Mapping[str, Any], given: Mapping[str, str]) -> None:
    """Raise where a key is of a learner other than the one that is set, or the usual one."""
    from honlearn.tasks.nested import LEARNER, nested, translated

    made = entry.estimator()
    learner = translated(made, settings).get(LEARNER)
    for key, word in given.items():
        with _named(word):
            nested(made, {**({} if learner is None else {LEARNER: learner}), key: settings[key]})


def _hint(estimator: type, key: str) -> Any:
    """Return the type of a flat keyword: of the estimator's own, or of the object whose parameter it is."""
    from honlearn.tasks.nested import field_name, homes

    home = homes(estimator, key)[0]
    return _hints(home).get(field_name(home, key), Any)


def _hints(estimator: type) -> dict[str, Any]:
    """Return the types of an estimator's keywords; a dataclass's are read in the module that names each."""
    if not dataclasses.is_dataclass(estimator):
        return typing.get_type_hints(estimator.__init__)  # type: ignore[misc]
    hints: dict[str, Any] = {}
    for field in dataclasses.fields(estimator):
        home = next(c for c in estimator.__mro__ if field.name in inspect.get_annotations(c))
        one = types.SimpleNamespace(__annotations__={field.name: field.type})
        hints |= typing.get_type_hints(one, vars(sys.modules[home.__module__]))
    return hints


def check_owners(words: Iterable[str] | None, entries: Sequence[Entry]) -> None:
    """Raise unless every ``NAME:`` before a key is the name of a model that takes part."""
    names = [entry.name for entry in entries]
    for word in words or ():
        owner, colon, _ = word.partition("=")[0].strip().rpartition(":")
        if colon and owner.replace("-shared", "*") not in names:
            raise ParameterError(
                f"--set {word!r}: {owner!r} does not take part; there are {listed(names, 40)}"
                f"{did_you_mean(owner, names)}"
            )


def _refusal(key: str, entry: Entry, known: Keywords, others: Sequence[Entry]) -> str:
    from honlearn.tasks.flat_names import LEARNER

    if key in _INSTEAD:
        return f"{key} is not set here; {_INSTEAD[key]}"
    owner = next(
        (one.name for one in others if key in keywords_of(one).names and key not in one.decided), None
    )
    alone = "" if owner is None else f"; {owner}:{key}=... sets it for {owner} alone"
    if key in entry.decided or (key == LEARNER and known.groups):
        return f"the name {entry.name!r} decides {key}{alone or '; choose another --model'}"
    free = [name for name in known.names if name not in entry.decided and name not in _INSTEAD]
    near = did_you_mean(key, [*free, *known.aliases])
    hint = alone or near or f"; NAME:{key}=... sets it for one model alone"
    return f"{entry.name} has no {key!r}; there are {listed(free, 40)}{hint}"


def _features(path: str) -> Any:
    from honlearn.cli.features import read_features

    return read_features(path)


def _value(key: str, text: str, hint: Any, entry: Entry) -> Any:
    if key == "learner":
        from honlearn.tasks.nested import as_learners

        words = _learner_names(text)
        as_learners(entry.name, words)
        return words[0] if len(words) == 1 else words
    if key == "features":
        return None if text.casefold() in _NONE else _features(text)
    members = _members(hint)
    for kind in members:
        value = _as(text, kind)
        if value is not _NO:
            return value
    wanted = " or ".join(dict.fromkeys(_described(kind) for kind in members))
    raise ParameterError(f"{key} of {entry.name} must be {wanted}. Got {text!r} instead.")


_NO = object()


def _members(hint: Any) -> list[Any]:
    """Return the types that a hint allows, the stricter before the looser."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = list(typing.get_args(hint)) if union else [hint]
    order = [type(None), bool, int, float]
    return sorted(kinds, key=lambda kind: order.index(kind) if kind in order else 9 + (kind is str))


def _as(text: str, kind: Any) -> Any:
    """Return `text` read as `kind`, or ``_NO``."""
    word = text.casefold()
    if kind is type(None):
        return None if word in _NONE else _NO
    if kind is bool:
        return True if word in _TRUE else False if word in _FALSE else _NO
    if kind is int or kind is float:
        try:
            return kind(text)
        except ValueError:
            return _NO
    if kind is str:
        return text
    if kind is Any:
        return _guess(text)
    if isinstance(typing.get_origin(kind), type) and issubclass(typing.get_origin(kind), Sequence):
        return _sequence(text, typing.get_args(kind)[0])
    if kind is PathLike or typing.get_origin(kind) is PathLike:
        return text
    return _NO


def _sequence(text: str, kind: Any) -> Any:
    inner = text[1:-1] if text[:1] + text[-1:] in ("[]", "()") else text
    parts = [part.strip() for part in inner.split(",")]
    if parts and not parts[-1]:
        parts.pop()
    values = tuple(_as(part, kind) for part in parts)
    return _NO if _NO in values or not values else values


def _guess(text: str) -> Any:
    """Return none, a truth value, a number, a mapping ``a:2,b:1``, numbers in a row, or the text itself."""
    for kind in (type(None), bool, int, float):
        value = _as(text, kind)
        if value is not _NO:
            return value
    pairs = [part.rpartition(":") for part in text.strip("{}").split(",")]
    if all(colon and name for name, colon, _ in pairs):
        weights = {name.strip(): _as(value.strip(), float) for name, _, value in pairs}
        if _NO not in weights.values():
            return weights
    row = _sequence(text, float)
    return text if row is _NO or "," not in text else row


def _described(kind: Any) -> str:
    names = {
        type(None): "none",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a word",
    }
    if kind in names:
        return names[kind]
    if typing.get_args(kind):
        return f"{names.get(typing.get_args(kind)[0], 'value').replace('a ', '')}s such as 128,128"
    return getattr(kind, "__name__", str(kind))
