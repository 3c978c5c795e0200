"""Parameters that are objects with parameters of their own: how they are set, found and flattened.

In: an estimator's class. Out: nested keywords for Python (``learner=GAT(heads=4)``, ``learner__heads=4``),
and flat ones for the command line and the records of runs (``heads=4``). Each flat name has one home: a
parameter of the estimator itself, of its learner, or of one of its parameter objects.
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from sklearn.base import BaseEstimator, clone

from honlearn.errors import ParameterError, check_choice, did_you_mean, listed
from honlearn.learners import KINDS, Learner, TorchLearner
from honlearn.tasks.flat_names import ALIASES as ALIASES
from honlearn.tasks.flat_names import AUTO as AUTO
from honlearn.tasks.flat_names import LEARNER as LEARNER
from honlearn.tasks.flat_names import check_field


class Nested:
    """An estimator with parameter objects; `parameter_objects` names their classes, but the learner's."""

    parameter_objects: ClassVar[Mapping[str, type]] = {}
    # What the learner is where it is not given, and whether it may be of any other kind.
    default_learner: ClassVar[str] = "sage"
    any_learner: ClassVar[bool] = True
    # Parameters of a learner whose default is another here than in an ensemble.
    learner_defaults: ClassVar[Mapping[str, Any]] = {}

    def set_params(self, **params: object) -> Any:
        """Set parameters, and return the estimator.

        Parameters
        ----------
        **params
            Values by name; ``training__patience=3`` sets one of a parameter object, made where it is None.
        """
        nested = {name: value for name, value in params.items() if "__" in name}
        plain = {name: value for name, value in params.items() if name not in nested}
        known = self.get_params(deep=False)  # type: ignore[attr-defined]
        for name in sorted(plain.keys() - known.keys()):
            refuse(type(self), name, plain[name])
        super().set_params(**plain)  # type: ignore[misc]
        for name, value in nested.items():
            head, _, rest = name.partition("__")
            for target in self._targets(head, rest):
                _set_field(target, rest, value)
        return self

    def _targets(self, name: str, parameter: str) -> list[Any]:
        """Return the objects that a nested parameter is set on; they become the estimator's own."""
        if name == LEARNER:
            made = as_learners(type(self).__name__, getattr(self, LEARNER), self.default_learner)
            has = [one for one in made if parameter in one.get_params()] or made
            setattr(self, LEARNER, made[0] if len(made) == 1 else made)
            return has
        if name not in self.parameter_objects:
            known = [LEARNER, *self.parameter_objects]
            raise ParameterError(
                f"{type(self).__name__} has no parameter object {name!r}; there are {listed(known)}"
            )
        made_one = self.parameter_object(name)
        setattr(self, name, made_one)
        return [made_one]

    def parameter_object(self, name: str) -> Any:
        """Return the parameter object of this name, a new one where it is None."""
        kind, value = self.parameter_objects[name], getattr(self, name)
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise ParameterError(
                f"The {name!r} parameter of {type(self).__name__} must be None or "
                f"honlearn.{kind.__name__}(...). Got {value!r} instead."
            )
        return value


def _set_field(target: BaseEstimator, name: str, value: object) -> None:
    """Set a parameter of a parameter object, or raise an error that names those that it has."""
    known = target.get_params(deep=False)
    if name not in known:
        raise ParameterError(
            f"{type(target).__name__} has no parameter {name!r}{did_you_mean(name, known)}; "
            f"there are {listed(known, 40)}"
        )
    target.set_params(**{name: value})


def as_learners(owner: str, value: object, usual: str = "sage") -> list[Learner]:
    """Return the kinds of learner that a `learner` parameter names: a word, an object, or several."""
    several = list(value) if isinstance(value, (list, tuple)) else [value]
    if not several:
        raise ParameterError(f"The 'learner' parameter of {owner} is empty; name at least one learner")
    words = [kind for kind in KINDS if kind != TorchLearner.kind]
    out: list[Learner] = []
    for one in several:
        if one is None or (len(several) == 1 and isinstance(one, str) and one == AUTO):
            one = usual
        if isinstance(one, str):
            if one == TorchLearner.kind:
                raise ParameterError(
                    f"The 'learner' parameter of {owner}: {one!r} is for Python only, since it needs a "
                    "function that makes the module: learner=honlearn.learners.TorchLearner(make). "
                    f"The words are {listed(map(repr, words), 20)}"
                )
            check_choice(owner, LEARNER, one, [AUTO, *words] if len(several) == 1 else words)
            one = KINDS[one]()
        if not isinstance(one, Learner):
            got = one.__name__ if isinstance(one, type) else repr(one).partition("\n")[0][:80]
            remedy = (
                "wrap a torch.nn.Module: hl.learners.TorchLearner(lambda n_in, n_out: Module(n_in, n_out))"
            )
            if isinstance(one, type) and issubclass(one, Learner):
                remedy = f"make an object of the class: {got}()"
            raise ParameterError(
                f"The 'learner' parameter of {owner} must be one of {listed(map(repr, words), 20)}, an "
                f"object of honlearn.learners, or a list of these. Got {got} instead; {remedy}."
            )
        out.append(one)
    return out


def refuse_old(owner: type[Nested], given: Mapping[str, Any]) -> None:
    """Raise for a keyword that is none, and say where a flat keyword of version 0.1 is now."""
    for name, value in given.items():
        refuse(owner, name, value)


def refuse(owner: type[Nested], name: str, value: object = None) -> NoReturn:
    """Raise an error that says where a keyword is, or what is near it."""
    if name == "aggregator" and value == "gin":
        raise ParameterError(
            f"{owner.__name__} has no 'aggregator': GIN is a learner of its own now. "
            "Write learner='gin' or set_params(learner='gin')"
        )
    home = _OLD.get(name, name)
    # Flat names come first: the 'width' of a learner is not that of pairs.
    places = [(g, kind, f) for g, kind in _groups(owner) for f in _fields(kind) if _flat_of(kind, f) == home]
    places += [(g, kind, home) for g, kind in _groups(owner) if home in _fields(kind)]
    for group, kind, field in places:
        module = "honlearn.learners" if group == LEARNER else "honlearn"
        raise ParameterError(
            f"{owner.__name__} has no {name!r}: it is a parameter of {group!r} now. "
            f"Write {group}={module}.{kind.__name__}({field}=...) or set_params({group}__{field}=...)"
            + _NOTES.get(name, "")
        )
    known = [n for n, p in inspect.signature(owner).parameters.items() if p.kind is not p.VAR_KEYWORD]
    raise ParameterError(f"{owner.__name__} has no parameter {name!r}{did_you_mean(name, known)}")


# Names of version 0.1 whose objects have another word for them, and what else has changed.
_OLD = {
    "echo": "mask_self",
    "dropout": "hidden_dropout",
    "n_layers": "widths",
    "width": "widths",
    "n_heads": "heads",
}
_NOTES = {
    "echo": "; echo=True is mask_self=False",
    "dropout": "; it was both input_dropout and hidden_dropout",
    "n_layers": "; widths has one number for each layer",
    "width": "; widths has one number for each layer",
}


# --- flat names --------------------------------------------------------------------------------------


def _groups(owner: type[Nested]) -> Iterator[tuple[str, type]]:
    """Yield the groups of parameters of an estimator: of learners, the usual kind first.

    A TorchLearner needs a function, so no flat name sets a parameter of it.
    """
    if LEARNER in inspect.signature(owner.__init__).parameters:
        kinds = [KINDS[owner.default_learner], *(KINDS.values() if owner.any_learner else ())]
        yield from ((LEARNER, kind) for kind in dict.fromkeys(kinds) if kind is not TorchLearner)
    yield from owner.parameter_objects.items()


def _fields(kind: type) -> dict[str, inspect.Parameter]:
    parameters = dict(inspect.signature(kind).parameters)
    parameters.pop("make", None)
    return parameters


def _flat_of(kind: type, field: str) -> str:
    names: Mapping[str, str] = getattr(kind, "flat_names", {})
    return names.get(field, field)


def field_name(kind: type, flat: str) -> str:
    """Return the name that a parameter of a class has there, from its flat name."""
    names: Mapping[str, str] = getattr(kind, "flat_names", {})
    return next((field for field, name in names.items() if name == flat), flat)


def flat_keywords(owner: type) -> dict[str, inspect.Parameter]:
    """Return every parameter of an estimator by its flat name, those of its objects among them.

    >>> from honlearn.tasks.nodes import DGEClassifier
    >>> [name in flat_keywords(DGEClassifier) for name in ("n_learners", "widths", "tau", "training")]
    [True, True, True, False]
    """
    own = dict(inspect.signature(owner).parameters)
    own.pop("network", None)
    if not issubclass(owner, Nested):
        return own
    hidden = {*owner.parameter_objects, *(() if owner.any_learner else (LEARNER,))}
    out = {n: p for n, p in own.items() if n not in hidden and p.kind is not p.VAR_KEYWORD}
    for _, kind in _groups(owner):
        for name, parameter in _fields(kind).items():
            out.setdefault(_flat_of(kind, name), parameter)
    return out


def homes(owner: type, name: str) -> list[type]:
    """Return the classes whose parameter a flat name is; the first is what its type is read from."""
    own = inspect.signature(owner).parameters
    if name in own or not issubclass(owner, Nested):
        return [owner]
    return [kind for _, kind in _groups(owner) if field_name(kind, name) in _fields(kind)]


def translated(owner: type, flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return flat settings without dots before their names and without aliases.

    >>> from honlearn.tasks.nodes import DGEClassifier
    >>> translated(DGEClassifier, {"learner.heads": 4, "n_layers": 3, "width": 16, "echo": True})
    {'heads': 4, 'mask_self': False, 'widths': (16, 16, 16)}
    """
    if not issubclass(owner, Nested):
        return dict(flat)
    own = set(flat_keywords(owner))
    out: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for key, value in flat.items():
        name = flat_name(owner, key)
        if name == "aggregator" and value == "gin" and flat.get(LEARNER) in (None, "gin"):
            out[LEARNER] = "gin"
        elif name in own:
            out[name] = value
        elif name in ("n_layers", "width"):
            sizes[name] = value
        elif name == "dropout":
            out |= {"input_dropout": value, "hidden_dropout": value}
        elif name == "echo":
            out["mask_self"] = not value
        else:
            out["heads" if name == "n_heads" else name] = value
    if sizes:
        usual = as_learners(owner.__name__, out.get(LEARNER), owner.default_learner)[0].layer_widths
        before = out.get("widths", usual)
        row = tuple(before) if isinstance(before, (list, tuple)) else (before,)
        out["widths"] = (sizes.get("width", row[-1]),) * sizes.get("n_layers", len(row))
    return out


def flat_name(owner: type, key: str) -> str:
    """Return the flat name of a key that may name its object too: ``path_kernel.share`` is kernel_share."""
    group, dot, field = key.partition(".")
    if not dot or not issubclass(owner, Nested):
        return key
    check_field(group, field, {name: tuple(fields) for name, fields in fields_by_group(owner).items()})
    for name, kind in _groups(owner):
        if name == group and field in _fields(kind):
            return _flat_of(kind, field)
    # An ensemble has heads of its own: those of its attention over learners.
    return "heads" if field == "n_heads" else field


def fields_by_group(owner: type[Nested]) -> dict[str, dict[str, type]]:
    """Return the parameters of each group of an estimator, with the class that each is of."""
    groups: dict[str, list[type]] = {}
    for name, kind in _groups(owner):
        groups.setdefault(name, []).append(kind)
    return {
        name: {field: kind for kind in reversed(kinds) for field in _fields(kind)}
        for name, kinds in groups.items()
    }


def nested(owner: type, flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords of an estimator from flat ones: objects are made where one of their parameters is set.

    >>> from honlearn.tasks.nodes import DGEClassifier
    >>> nested(DGEClassifier, {"learner": "gat", "heads": 4, "n_learners": 8, "patience": 3})
    {'learner': GAT(heads=4), 'n_learners': 8, 'training': Training(patience=3)}
    """
    if not issubclass(owner, Nested):
        return dict(flat)
    own, out, rest = inspect.signature(owner).parameters, {}, translated(owner, flat)
    for name in list(rest):
        if name in own:
            out[name] = rest.pop(name)
    for group, kind in owner.parameter_objects.items():
        fields = {_flat_of(kind, field): field for field in _fields(kind)}
        given = {fields[name]: rest.pop(name) for name in list(rest) if name in fields}
        if given:
            out[group] = kind(**given)
    if rest:
        out[LEARNER] = _learners_with(owner, out.get(LEARNER), rest)
    return out


def _learners_with(owner: type[Nested], value: object, settings: Mapping[str, Any]) -> Any:
    """Return the learners with these settings; of several kinds each takes those that it has."""
    made = [clone(one) for one in as_learners(owner.__name__, value, owner.default_learner)]
    for name, setting in settings.items():
        taking = [one for one in made if name in one.get_params()]
        if not taking:
            kinds = listed(dict.fromkeys(one.name for one in made))
            known = dict.fromkeys(field for one in made for field in one.get_params())
            having = [kind.__name__ for kind in KINDS.values() if name in _fields(kind)]
            hint = f"; it is a parameter of {listed(having)}" if having else did_you_mean(name, known)
            raise ParameterError(
                f"{kinds} {'has' if len(made) == 1 else 'have'} no {name!r}; there are "
                f"{listed(known, 40)}{hint}"
            )
        for one in taking:
            one.set_params(**{name: setting})
    return made[0] if len(made) == 1 else made


def flat_values(owner: type, task: str, flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return every flat parameter with its value: the default, what suits the task, or what is given.

    Of several kinds of learner a flat name has the value of the first; ``learners`` has all of each kind.
    """
    given = translated(owner, flat)
    values = {name: parameter.default for name, parameter in flat_keywords(owner).items()}
    if not issubclass(owner, Nested):
        return {**values, **given}
    learner = nested(owner, given).get(LEARNER, values.get(LEARNER))
    is_chosen = isinstance(learner, str) and learner == AUTO
    is_bag = given.get("variant", values.get("variant")) == "bag" and not given.get("shared", False)
    kinds = [clone(one) for one in as_learners(owner.__name__, learner, owner.default_learner)]
    for one in kinds:
        usual = owner.learner_defaults.items()
        one.set_params(**{name: value for name, value in usual if getattr(one, name) is None})
    kinds = [one.resolved(task) for one in kinds]
    of_any = {name for kind in KINDS.values() for name in _fields(kind)}
    of_any -= set(inspect.signature(owner).parameters)
    out = {name: value for name, value in values.items() if name not in of_any}
    if is_chosen and is_bag:
        return {**out, **given, LEARNER: AUTO}
    out |= _values_of(kinds, of_any) | {n: v for n, v in given.items() if n != LEARNER}
    return out | {LEARNER: "+".join(one.kind for one in kinds)}


def _values_of(kinds: Sequence[Learner], names: Container[str]) -> dict[str, Any]:
    """Return the parameters of learners; what one of several has otherwise than those before it has its name.

    Without that, two mixed ensembles would have the same record.
    """
    out: dict[str, Any] = {}
    for place, one in enumerate(kinds):
        first = [kind.kind for kind in kinds].index(one.kind) == place
        prefix = one.kind if first else f"{one.kind}-{place + 1}"
        for name, value in one.get_params(deep=False).items():
            if isinstance(one, TorchLearner) and name == "make":
                # A function has no value that could be compared; what it makes has.
                value = one.described()
            elif name not in names:
                continue
            if repr(out.setdefault(name, value)) != repr(value):
                out[f"{prefix}.{name}"] = value
    return out
