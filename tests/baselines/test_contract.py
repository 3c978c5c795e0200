"""The contract of the baselines, over every one that is registered: a new one is covered at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from baseline_cases import (
    ENOUGH,
    LONE,
    answers,
    entry,
    held_out,
    label,
    lonely,
    network,
    nodes,
    settings_for,
    train,
    trained,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

import honlearn as hl
import honlearn.ensemble.checkpoint as checkpoints
from honlearn.baselines.catalogue import BASELINES, Listed
from honlearn.baselines.graph import Graph
from honlearn.baselines.neural import Identity
from honlearn.baselines.single import Single
from honlearn.baselines.training import stream
from honlearn.cli.settings import parse_settings
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import KINDS
from honlearn.tasks.link_split import split_links
from honlearn.tasks.nested import field_name, homes

# These know frequencies and degrees alone; their own tests say what they must learn.
FLOORS = ("majority", "popularity")
# These draw walks or parts of the graph when they predict, by the order of the nodes.
DRAWN_AT_TEST = ("pathgcn",)


def each(chosen: Iterable[Listed]) -> pytest.MarkDecorator:
    """Return the parameter of tests over baselines; those of one share its fits (tests/conftest.py)."""
    return pytest.mark.parametrize("listed", list(chosen), ids=label)


EVERY = each(BASELINES)
NODES, LINKS = (each(one for one in BASELINES if one.task == task) for task in ("nodes", "links"))
LEARNERS = [one for one in BASELINES if one.name not in FLOORS]


def proper(probabilities: np.ndarray, rows: int, columns: int) -> None:
    """Check shape, range and sums."""
    assert probabilities.shape == (rows, columns)
    assert probabilities.dtype == np.float32
    assert np.isfinite(probabilities).all()
    assert probabilities.min() >= 0
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-5)


# --- it learns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("listed", LEARNERS, ids=label)
def test_learns_what_is_planted(listed: Listed, order: int) -> None:
    if listed.task == "nodes":
        names, groups = nodes()
        test = slice(len(names) * 2 // 3, None)
        model = train(listed, network(order), **settings_for(listed, ENOUGH))
        # Three classes, 14 nodes: 11 right by chance has a probability of 0.0008.
        assert (model.predict(names[test]) == groups[test]).mean() >= 0.75
    else:
        split = held_out()
        seen = split.network if order == 2 else split.network.first_order()
        model = train(listed, seen, **settings_for(listed, ENOUGH))
        # A linked pair is of one community nearly always, an unlinked one every fifth time.
        assert roc_auc_score(split.labels, model.predict_proba(split.names)[:, 1]) >= 0.7


@EVERY
def test_a_network_without_contexts_will_do(listed: Listed) -> None:
    model = train(listed, network(1))
    assert network(1).n_conditional == 0
    probabilities = answers(listed, model)
    proper(probabilities, len(probabilities), len(model.classes_))
    assert listed.name in FLOORS or probabilities.std() > 0


@EVERY
def test_gives_probabilities_of_labelled_and_unlabelled(listed: Listed) -> None:
    model = trained(listed.name, listed.task)
    asked = nodes()[0] if listed.task == "nodes" else held_out().names
    probabilities = answers(listed, model)
    proper(probabilities, len(asked), len(model.classes_))
    assert (model.predict(asked) == model.classes_[probabilities.argmax(1)]).all()
    # One by one or all at once, and asking twice: nothing depends on the company.
    np.testing.assert_allclose(model.predict_proba(asked[3:4]), probabilities[3:4], atol=1e-6)
    assert answers(listed, model).tobytes() == probabilities.tobytes()
    assert model.predict_proba(asked[:0]).shape == (0, len(model.classes_))


# --- seeds and names ---------------------------------------------------------------------------------


@EVERY
def test_same_seed_same_bytes_with_progress_and_without(
    listed: Listed, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    before = answers(listed, trained(listed.name, listed.task)).tobytes()
    capfd.readouterr()
    state = torch.random.get_rng_state()
    numbers = np.random.get_state()[1].tobytes()  # noqa: NPY002 - that it is left alone is the point
    again = train(listed, network(), verbose=True)
    assert ("training" in capfd.readouterr().err) == (len(again.history_) > 0)
    assert answers(listed, again).tobytes() == before
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.random.get_state()[1].tobytes() == numbers  # noqa: NPY002


def relabelled(graph: Graph) -> tuple[Graph, torch.Tensor, torch.Tensor]:
    """Return the graph with other numbers for its nodes, and what each entity and each node became."""
    random = np.random.default_rng(0)
    entity = random.permutation(graph.n_entities)
    rest = graph.n_entities + random.permutation(graph.n_nodes - graph.n_entities)
    entities = torch.from_numpy(entity)
    every = torch.from_numpy(np.concatenate([entity, rest]))
    base = torch.empty_like(graph.base)
    base[every] = entities[graph.base]
    return Graph(base, every[graph.edges], graph.weights, graph.n_entities), entities, every


@EVERY
def test_relabelling_nodes_permutes_the_output(listed: Listed) -> None:
    model = trained(listed.name, listed.task)
    if isinstance(model, Single):
        renamed_nodes_have_the_same_answers(listed, model)
        return
    if not hasattr(getattr(model, "module_", None), "encoder") or listed.name in DRAWN_AT_TEST:
        renamed_nodes_are_learnt_as_well(listed)
        return
    graph = model._graph()
    other, entities, every = relabelled(graph)
    with torch.no_grad(), stream(0, "test"):
        before = model.module_.encoder(model.module_.encoder.view(graph))
        again = model._module(other)
        again.load_state_dict(model.module_.state_dict())
        again.eval()
        look_ups = [module for module in again.modules() if isinstance(module, Identity)]
        assert look_ups, "a node is told apart by the row of its entity"
        for look_up in look_ups:
            look_up.weight[entities] = look_up.weight.clone()
        after = again.encoder(again.encoder.view(other))
    assert before.std() > 0
    rows = len(before)  # all nodes, or the base nodes alone
    torch.testing.assert_close(after[every[:rows]], before, atol=1e-5, rtol=1e-4)


def turned(name: str) -> str:
    """Return another name for a node; those of all nodes are in the opposite order."""
    return "|".join(f"{chr(219 - ord(part[0]))}{99 - int(part[3:])}" for part in name.split("|"))


def turned_network() -> HigherOrderNetwork:
    """Return the network with the order of the names turned around, and with it every code."""
    table = network().to_pandas()
    sources, targets = ([turned(name) for name in table[column]] for column in ("source", "target"))
    return from_edges(sources, targets, table["weight"])


def renamed_nodes_have_the_same_answers(listed: Listed, model: Single) -> None:
    """Give each entity of the renamed network the row that it had, and nothing else is different."""
    other = turned_network()
    code = {turned(name): code for code, name in enumerate(network().vocabulary)}
    row = [code[name] for name in other.vocabulary]
    assert row != sorted(row)
    twin = clone(model).set_params(network=other)
    twin.classes_, twin.seed_ = model.classes_, model.seed_
    tables = [name for name in model.state_ if name.endswith("identity")]
    assert tables, "a node is told apart by the row of its entity"
    twin._restore({n: t[:, row] if n in tables else t for n, t in model.state_.items()})
    asked = nodes()[0] if listed.task == "nodes" else held_out().names
    renamed: Any = np.vectorize(turned, otypes=[object])(np.asarray(asked, object))
    probabilities = model.predict_proba(asked)
    assert probabilities.std() > 0
    np.testing.assert_allclose(twin.predict_proba(renamed), probabilities, atol=1e-5)


def renamed_nodes_are_learnt_as_well(listed: Listed) -> None:
    """Where what is drawn depends on the codes: what is asserted is what is learnt."""
    if listed.name in FLOORS:
        return
    other = turned_network()
    settings = settings_for(listed, ENOUGH)
    if listed.task == "nodes":
        names, groups = nodes()
        part = len(names) * 2 // 3
        model = (
            entry(listed).make(other, **settings).fit([turned(name) for name in names[:part]], groups[:part])
        )
        guesses = model.predict([turned(name) for name in names[part:]])
        assert (guesses == groups[part:]).mean() >= 0.75
    else:
        pairs = held_out().names
        model = entry(listed).make(other, **settings).fit()
        linked = model.predict_proba([(turned(u), turned(v)) for u, v in pairs])[:, 1]
        assert roc_auc_score(held_out().labels, linked) >= 0.7


# --- odd inputs --------------------------------------------------------------------------------------


@EVERY
def test_a_node_without_edges_is_answered(listed: Listed) -> None:
    model = train(listed, lonely())
    asked: Any = [LONE, "elm00"] if listed.task == "nodes" else [(LONE, "elm00"), ("elm01", LONE)]
    proper(model.predict_proba(asked), 2, len(model.classes_))


@NODES
def test_one_class_is_certain(listed: Listed) -> None:
    names, _ = nodes()
    model = entry(listed).make(network(), **settings_for(listed)).fit(names[:10], ["only"] * 10)
    np.testing.assert_array_equal(model.predict_proba(names), np.ones((len(names), 1), np.float32))
    assert set(model.predict(names)) == {"only"}


@NODES
def test_a_class_with_one_member_has_its_column(listed: Listed) -> None:
    names, groups = nodes()
    labels = np.where(np.arange(10) == 4, "rare", groups[:10])
    model = entry(listed).make(network(), **settings_for(listed)).fit(names[:10], labels)
    proper(model.predict_proba(names), len(names), len(set(labels)))
    assert list(model.classes_) == sorted(set(labels))


@LINKS
def test_pairs_of_the_user_and_no_direction(listed: Listed) -> None:
    split = split_links(network(), 0.15, seed=0, directed=False)
    model = entry(listed).make(network(), **settings_for(listed), directed=False)
    model.fit(split.names, split.labels)
    backwards = [(v, u) for u, v in split.names]
    probabilities = model.predict_proba(split.names)
    proper(probabilities, len(split.names), 2)
    np.testing.assert_array_equal(model.predict_proba(backwards), probabilities)
    with pytest.raises(InputError, match=r"linked pairs \(1\) and pairs that are not \(0\)"):
        model.fit(split.names[:3], [1, 1, 1])


@LINKS
def test_recommends_who_is_likely_and_new(listed: Listed) -> None:
    model = trained(listed.name, listed.task)
    table = model.recommend("elm03", top=5)
    assert table.columns.tolist() == ["neighbor", "probability"]
    assert table["probability"].is_monotonic_decreasing
    pairs = [("elm03", name) for name in table["neighbor"]]
    np.testing.assert_allclose(model.predict_proba(pairs)[:, 1], table["probability"], atol=1e-6)
    edges = network().first_order().to_pandas()
    known = set(edges.loc[edges["source"] == "elm03", "target"])
    assert known
    assert not known & {*table["neighbor"]}
    everyone = set(model.recommend("elm03", top=1000)["neighbor"])
    assert everyone == set(network().vocabulary) - known - {"elm03"}


@EVERY
def test_errors_name_the_model(listed: Listed) -> None:
    model = trained(listed.name, listed.task)
    named = type(model).__name__
    unknown: Any = ["ash99"] if listed.task == "nodes" else [("ash99", "elm00")]
    with pytest.raises(UnknownNodeError, match=r"'ash99'; did you mean 'ash\d+'\?"):
        model.predict_proba(unknown)
    with pytest.raises(ParameterError, match=f"'network' parameter of {named} must be a HigherOrderNetwork"):
        train(listed, "not a network")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        train(listed, network(), random_state=-1)
    with pytest.raises(NotFittedError, match=named):
        entry(listed).make(network()).predict_proba(unknown)


# --- options -----------------------------------------------------------------------------------------


@EVERY
def test_an_unknown_option_gets_a_near_match(listed: Listed) -> None:
    with pytest.raises(ParameterError, match=rf"{listed.name} has no 'n_thread'; .*mean 'n_threads'\?"):
        parse_settings(["n_thread=2"], entry(listed))
    with pytest.raises(ParameterError, match=rf"{listed.name} has no 'verbos'; .*mean 'verbose'\?"):
        entry(listed).make(network(), verbos=True)
    with pytest.raises(TypeError, match="verbos"):
        listed.estimator()(network(), verbos=True)


@EVERY
def test_the_nearest_class_with_a_default_decides_it(listed: Listed) -> None:
    # A dataclass with two bases takes what the first one merely inherits; a model's own must not be lost.
    for name, parameter in entry(listed).keywords().items():
        owner = homes(listed.estimator(), name)[0]
        field = field_name(owner, name)
        home = next(c for c in owner.__mro__ if field in inspect.get_annotations(c))
        assert parameter.default == vars(home).get(field, parameter.default), name


@EVERY
def test_every_option_can_be_set_by_a_word(listed: Listed) -> None:
    for name, parameter in entry(listed).keywords().items():
        if name not in ("random_state", "checkpoint"):
            default = parameter.default
            word = ",".join(map(str, default)) if isinstance(default, tuple) else default
            value = parse_settings([f"{name}={word}"], entry(listed))[name]
            # One layer is written as its width alone.
            assert value == (default[0] if isinstance(default, tuple) and len(default) == 1 else default), (
                name
            )


def field_of(listed: Listed, name: str) -> str:
    """Return the name that a parameter has in its own object."""
    return field_name(homes(listed.estimator(), name)[0], name)


def nested_defaults(listed: Listed) -> dict[str, Any]:
    """Return the parameters of the objects that a model has where none is given."""
    made = listed.estimator()
    if not issubclass(made, Single):
        return {}
    kinds = {**made.parameter_objects, "learner": KINDS[made.default_learner]}
    return {
        f"{group}__{name}": value
        for group, kind in kinds.items()
        for name, value in kind().get_params().items()
    }


@EVERY
def test_behaves_as_scikit_learn_expects(listed: Listed) -> None:
    model = entry(listed).make(network(), **settings_for(listed))
    given = model.get_params()
    assert set(model.get_params(deep=False)) == {*inspect.signature(type(model)).parameters}
    # Every flat name of the command line is a parameter of the model or of one of its objects.
    owned = {name.rpartition("__")[2] for name in {**given, **nested_defaults(listed)}}
    assert {"network", *(field_of(listed, name) for name in entry(listed).keywords())} <= owned
    twin = clone(model)
    assert twin is not model
    objects = {name.partition("__")[0] for name in given if "__" in name}
    assert set(twin.get_params()) == set(given)
    for name, value in twin.get_params().items():
        if name in objects:
            assert value is not given[name]
            assert repr(value) == repr(given[name])
        else:
            assert value == given[name], name
    assert twin.network is network()
    assert twin.set_params(verbose=False).verbose is False
    assert type(model).__name__ in repr(model)
    X, y = nodes() if listed.task == "nodes" else (np.array(held_out().names), held_out().labels)
    scores = cross_val_score(model, X, y, cv=2, error_score="raise")
    assert scores.shape == (2,)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert not hasattr(model, "state_"), "the constructor and clones fit nothing"


# --- disk --------------------------------------------------------------------------------------------


@EVERY
def test_a_saved_model_answers_with_the_same_bytes(listed: Listed, tmp_path: Path) -> None:
    model = trained(listed.name, listed.task)
    model.save(tmp_path / "model")
    loaded = hl.load_model(tmp_path / "model")
    assert type(loaded) is type(model)
    assert answers(listed, loaded).tobytes() == answers(listed, model).tobytes()
    assert loaded.n_parameters_ == model.n_parameters_
    assert len(loaded.history_) == len(model.history_)
    assert not [file for file in (tmp_path / "model").iterdir() if file.suffix in (".pkl", ".pt", ".joblib")]


class Killed(Exception):
    pass


@contextmanager
def dying_at(number: int | None) -> Iterator[list[int]]:
    """Count the checkpoints that are written; the one of this number is not, and the fit dies instead."""
    written = [0]
    packed = checkpoints.as_safetensors

    def pack_or_die(*arguments: Any) -> bytes:
        if written[0] + 1 == number:
            raise Killed("killed on purpose")
        written[0] += 1
        return packed(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "as_safetensors", pack_or_die)
        yield written


@EVERY
def test_a_killed_fit_goes_on_to_the_same_bytes(
    listed: Listed, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saving = {"checkpoint": tmp_path / "fit.ckpt", "checkpoint_seconds": 0.0}
    straight = trained(listed.name, listed.task)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    capfd.readouterr()
    with dying_at(None) as written:
        train(listed, network(), verbose=False, **saving)
    assert capfd.readouterr().err == "", "a fit that is told to be quiet shows nothing"
    assert list(tmp_path.iterdir()) == [], "a fit that is done leaves no checkpoint"
    total, done = written[0], 0
    assert (total > 2) == (len(straight.history_) > 0), "what is trained in epochs is kept on the way"
    if not total:
        return
    for at in (3, total - 3):
        with dying_at(at) as written, pytest.raises(Killed, match="on purpose"):
            train(listed, network(), **saving)
        done += written[0]
    with dying_at(None) as written:
        resumed = train(listed, network(), **saving)
    assert done + written[0] == total, "what was done before is not done again"
    assert answers(listed, resumed).tobytes() == answers(listed, straight).tobytes()
    assert resumed.history_.equals(straight.history_)
    assert list(tmp_path.iterdir()) == []


def test_a_network_is_shared_not_copied() -> None:
    whole: HigherOrderNetwork = network()
    assert all(trained(one.name, one.task).network is whole for one in BASELINES)
