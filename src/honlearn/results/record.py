"""The record of one fit and one test: what was asked, the scores, sizes and times, as typed values.

In: a line of JSON, checked as it is read, or what an evaluation has measured. Out: a :class:`Record`, and the
same JSON again. Parts that a line lacks are None or empty; :meth:`Record.check_whole` asks for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from honlearn.errors import FormatError
from honlearn.stored import Fields, parse_json, shown

TASKS = ("nodes", "links", "next", "paths")
# How the division of a record of links begins whose test part is what first appears after a moment.
LATER = "later than"
# A digest names files, so that it may hold nothing that leads elsewhere.
NAME = re.compile(r"[0-9A-Za-z_-]{1,100}")
# Squares of larger numbers would not fit a float.
LARGEST = 1e100
_ADVICE = "remove the line"
# The scores of which a whole record has one, the first it has being the main one.
_MAIN_SCORES = {
    "nodes": ("micro_f1",),
    "links": ("degree_auprc", "auprc"),
    "next": ("bits",),
    "paths": ("log_loss",),
}
Value = TypeVar("Value")


@dataclass(frozen=True)
class DataDigests:
    """Digests of what a fit was given: the network or counts, the labels of nodes, and the test part."""

    network: str | None = None
    labels: str | None = None
    test: str | None = None

    @classmethod
    def from_fields(cls, given: Fields) -> DataDigests:
        """Return the digests in a JSON object; every value of it must be text."""
        found = {name: given.text(name) for name in given.values}
        return cls(*(found.get(name) for name in ("network", "labels", "test")))

    def to_json(self) -> dict[str, str]:
        """Return the digests that are known."""
        return _known({"network": self.network, "labels": self.labels, "test": self.test})


_USUAL_LEARNER = "sage"


def model_name(model: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of a model, and its learner where that is not the usual one.

    >>> model_name("dge-bag", {"learner": "gat"}), model_name("gat", {"learner": "gat"})
    ('dge-bag (gat)', 'gat')
    """
    learner = parameters.get("learner")
    return model if learner in (None, _USUAL_LEARNER, model) else f"{model} ({learner})"


@dataclass(frozen=True)
class Configuration:
    """Everything that decides a result; `search` says how settings are searched inside the training part."""

    model: str
    input: str
    seed: int
    fold: int
    task: str = "nodes"
    folds: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    data: DataDigests = field(default_factory=DataDigests)
    search: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """What tables call the model: its name, and its learner where that is not the usual one."""
        return model_name(self.model, self.parameters)

    @property
    def is_resampled(self) -> bool:
        """Whether another fold or repetition tests other examples; of links that come later it does not."""
        return not (self.folds or "").startswith(LATER)

    @classmethod
    def from_fields(cls, asked: Fields) -> Configuration:
        """Return the configuration in a JSON object."""
        return cls(
            model=asked.text("model"),
            input=asked.text("input"),
            seed=asked.integer("seed", 0, None),
            fold=asked.integer("fold", 0),
            task=asked.text("task", TASKS) if "task" in asked.values else "nodes",
            folds=asked.text("folds") if "folds" in asked.values else None,
            parameters=asked.mapping("parameters").values if asked.has("parameters") else {},
            data=DataDigests.from_fields(asked.mapping("data")) if asked.has("data") else DataDigests(),
            search=asked.mapping("search").values if asked.has("search") else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values, of which the digest of a record is made."""
        return _known(
            {
                "task": self.task,
                "model": self.model,
                "input": self.input,
                "seed": self.seed,
                "folds": self.folds,
                "fold": self.fold,
                "parameters": dict(self.parameters),
                "data": self.data.to_json(),
                "search": self.search,
            }
        )


@dataclass(frozen=True)
class ChosenNetwork:
    """The network that a fit has chosen from counts of grams; `tau` None keeps every context."""

    order: int
    tau: float | None = None
    min_support: float | None = None
    nodes: int | None = None

    @classmethod
    def from_fields(cls, given: Fields) -> ChosenNetwork:
        """Return the choice in a JSON object."""
        nodes = given.integer("nodes", 0) if given.has("nodes") else None
        return cls(given.integer("order", 1), _number(given, "tau"), _number(given, "min_support"), nodes)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"order": self.order, "tau": self.tau, "min_support": self.min_support, "nodes": self.nodes}


@dataclass(frozen=True)
class ChosenComponent:
    """Learners that a fit has chosen: kind, edge power, the order of their network, number and share."""

    learner: str
    edge_power: float
    order: int
    members: int
    share: float

    @classmethod
    def from_fields(cls, given: Fields) -> ChosenComponent:
        """Return the component in a JSON object."""
        return cls(
            given.text("learner"),
            given.number("edge_power", 0),
            given.integer("order", 1),
            given.integer("members", 1),
            given.number("share", 0, 1),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a fit: examples of either part, parameters of the model, and what the fit itself has chosen.

    `counts` has what one task counts beyond that: classes of nodes, edges that are hidden from links.
    """

    train: int | None = None
    test: int | None = None
    counts: Mapping[str, float | None] = field(default_factory=dict)
    parameters: float | None = None
    chosen: ChosenNetwork | None = None
    edge_power: float | None = None
    kernel_share: float | None = None
    components: tuple[ChosenComponent, ...] = ()

    @classmethod
    def from_fields(cls, given: Fields) -> Sizes:
        """Return the sizes in a JSON object; names that are not known here are counts."""
        own = {each.name for each in fields(cls)} - {"counts"}
        return cls(
            train=given.integer("train", 1) if "train" in given.values else None,
            test=given.integer("test", 0) if "test" in given.values else None,
            counts={name: _number(given, name) for name in given.values if name not in own},
            parameters=_number(given, "parameters"),
            chosen=ChosenNetwork.from_fields(given.mapping("chosen")) if given.has("chosen") else None,
            edge_power=_number(given, "edge_power"),
            kernel_share=_number(given, "kernel_share"),
            components=tuple(ChosenComponent.from_fields(one) for one in given.mappings("components"))
            if given.has("components")
            else (),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values; a model without a number of parameters has null there."""
        return {
            **_known({"train": self.train, "test": self.test}),
            **self.counts,
            "parameters": self.parameters,
            **({} if self.chosen is None else {"chosen": self.chosen.to_json()}),
            **_known({"edge_power": self.edge_power, "kernel_share": self.kernel_share}),
            **({"components": [one.to_json() for one in self.components]} if self.components else {}),
        }


@dataclass(frozen=True)
class Times:
    """Seconds of a fit, its predictions and its search, by the clock and of the processor, and its end."""

    fit_seconds: float | None = None
    fit_cpu_seconds: float | None = None
    predict_seconds: float | None = None
    predict_cpu_seconds: float | None = None
    finished: str | None = None
    search_seconds: float | None = None
    search_cpu_seconds: float | None = None

    @classmethod
    def from_fields(cls, given: Fields) -> Times:
        """Return the times in a JSON object."""
        clocks = [each.name for each in fields(cls) if each.name != "finished"]
        finished = given.text("finished") if "finished" in given.values else None
        return cls(finished=finished, **{name: _number(given, name) for name in clocks})

    def to_json(self) -> dict[str, Any]:
        """Return the times that are known."""
        return _known({each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def cpu_seconds(self) -> float:
        """Processor time of everything that was measured."""
        return sum(
            clock or 0.0
            for clock in (self.fit_cpu_seconds, self.predict_cpu_seconds, self.search_cpu_seconds)
        )


@dataclass(frozen=True)
class Record:
    """One fit and one test; `search` is what a search before the fit has found.

    >>> asked = {"model": "gcn", "input": "gk", "seed": 0, "fold": 2}
    >>> values = {"digest": "a1", "configuration": asked, "scores": {"micro_f1": 0.5}}
    >>> record = Record.from_json(values, "records.jsonl:1")
    >>> record.configuration.fold, record.score("micro_f1"), record.times.fit_seconds
    (2, 0.5, None)
    """

    digest: str
    configuration: Configuration
    scores: Mapping[str, float | None]
    sizes: Sizes = field(default_factory=Sizes)
    times: Times = field(default_factory=Times)
    versions: Mapping[str, str] = field(default_factory=dict)
    search: Mapping[str, Any] | None = None

    @classmethod
    def parse(cls, line: bytes | str, where: str) -> Record:
        """Return the record in a line of JSON."""
        return cls.from_json(parse_json(line, where, advice=_ADVICE), where)

    @classmethod
    def from_json(cls, values: object, where: str) -> Record:
        """Return the record in a JSON object; parts that it has must be of the types that they should be."""
        given = Fields(values, where, advice=_ADVICE)
        digest = checked_digest(given)
        scores = given.mapping("scores")
        versions = given.mapping("versions") if "versions" in given.values else None
        return cls(
            digest,
            Configuration.from_fields(given.mapping("configuration")),
            {name: _number(scores, name) for name in scores.values},
            Sizes.from_fields(given.mapping("sizes")) if "sizes" in given.values else Sizes(),
            Times.from_fields(given.mapping("times")) if "times" in given.values else Times(),
            {name: versions.text(name) for name in versions.values} if versions else {},
            given.mapping("search").values if given.has("search") else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values in the order in which a line has them."""
        return {
            "digest": self.digest,
            "configuration": self.configuration.to_json(),
            "scores": dict(self.scores),
            "sizes": self.sizes.to_json(),
            "times": self.times.to_json(),
            "versions": dict(self.versions),
            **_known({"search": self.search}),
        }

    def check_whole(self, where: str) -> None:
        """Raise unless everything is there that tables of results need."""
        asked, main = self.configuration, self.main_score
        needed: list[tuple[str, str, object]] = [
            ("configuration", "folds", asked.folds),
            ("data", "test", asked.data.test),
            ("data", "network", asked.data.network),
            ("sizes", "train", self.sizes.train),
            ("sizes", "test", self.sizes.test),
            ("times", "fit_seconds", self.times.fit_seconds),
            ("times", "fit_cpu_seconds", self.times.fit_cpu_seconds),
            ("scores", main, self.scores.get(main)),
        ]
        for part, name, value in needed:
            if value is None:
                raise FormatError(f"{where}: {part!r}: {name!r} is not there; {_ADVICE}")
        if not self.versions:
            raise FormatError(f"{where}: 'versions' is not there; {_ADVICE}")

    @property
    def main_score(self) -> str:
        """The name of the score that tables lead with: of links the degree-corrected one, where it is there.

        Records of version 0.1, and those of the paper's protocol, have uniform negatives alone.
        """
        names = _MAIN_SCORES[self.configuration.task]
        return next((name for name in names if self.scores.get(name) is not None), names[-1])

    def score(self, name: str) -> float:
        """Return a score that must be there."""
        return required(self.scores.get(name), name)

    @property
    def test_part(self) -> tuple[int, int, str]:
        """Seed, fold and digest of what was tested: two records that share them can be compared in pairs."""
        asked = self.configuration
        return asked.seed, asked.fold, required(asked.data.test, "test")

    @property
    def test_share(self) -> float:
        """Test examples of one score for each training example.

        Of links a score is of the tested links and as many unlinked pairs, however many kinds of these were
        tested beside each other.
        """
        test = required(self.sizes.test, "test")
        tested = self.sizes.counts.get("tested")
        if self.configuration.task == "links" and tested:
            test = min(test, int(2 * tested))
        return test / required(self.sizes.train, "train")


def required(value: Value | None, name: str) -> Value:
    """Return a value of a record that must be there."""
    if value is None:
        raise FormatError(f"a record has no {name!r}; remove its line, and its job runs again")
    return value


def checked_digest(given: Fields) -> str:
    """Return the digest of a line; it can be the name of a file."""
    digest = given.text("digest")
    if not NAME.fullmatch(digest):
        raise FormatError(f"{given.where}: {shown(digest)} is not a digest; {given.advice}")
    return digest


def _number(given: Fields, name: str) -> float | None:
    """Return a number as it was written, whole or not; None where there is none."""
    if not given.has(name):
        return None
    given.number(name, -LARGEST, LARGEST)
    value: float = given.values[name]
    return value


def _known(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}
