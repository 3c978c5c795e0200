"""Folders that were made to harm, with digests that are right: refused in one line, never half believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy.sparse import csr_array
from task_cases import FAST, communities

from honlearn import DGEClassifier, DGELinkPredictor, PathClassifier, load_model
from honlearn.baselines.honem import HONEMLinkPredictor
from honlearn.baselines.popularity import PopularityPredictor
from honlearn.baselines.single import GCNClassifier
from honlearn.errors import FormatError, InputError
from honlearn.tasks.model_folder import config_digest
from honlearn.tasks.nested import nested

Edit = Callable[[dict[str, Any]], Any]
LEARNER, TRAINING = "parameters.learner.parameters.", "parameters.training.parameters."
KERNEL, COMPONENT, VECTORS = "parameters.path_kernel", "components.0.", "component0.path_vectors"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ensemble") / "model"
    hon, nodes, y = communities()
    flat = {**FAST, "max_epochs": 2, "fan_outs": None, "features": csr_array(np.eye(60))}
    DGEClassifier(hon, **nested(DGEClassifier, flat)).fit(nodes[::2], y[::2]).save(folder)
    return folder


def repaired(source: Path, target: Path, config: Edit | None = None, tensors: Edit | None = None) -> Path:
    """Return a copy of a model whose config or tensors were edited and whose digests are right again."""
    target.mkdir()
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    whole = json.loads((target / "config.json").read_text("utf-8"))
    if tensors is not None:
        held = load_file(target / "weights.safetensors")
        tensors(held)
        save_file(held, target / "weights.safetensors")
        content = (target / "weights.safetensors").read_bytes()
        whole["files"]["weights.safetensors"] = hashlib.sha256(content).hexdigest()
    if config is not None:
        config(whole)
    whole["digest"] = config_digest(whole)
    (target / "config.json").write_text(json.dumps(whole), "utf-8")
    facts = json.loads((target / "training.json").read_text("utf-8"))
    (target / "training.json").write_text(json.dumps(facts | {"config": whole["digest"]}), "utf-8")
    return target


def put(path: str, value: Any) -> Edit:
    """Return an edit that sets the value at a dotted path."""

    def edit(config: dict[str, Any]) -> None:
        target: Any = config
        *owners, last = path.split(".")
        for owner in owners:
            target = target[int(owner) if isinstance(target, list) else owner]
        target[int(last) if isinstance(target, list) else last] = value

    return edit


def test_a_copy_with_repaired_digests_is_loaded(model: Path, tmp_path: Path) -> None:
    nodes = communities()[1]
    copy = repaired(model, tmp_path / "copy", tensors=lambda held: None)
    np.testing.assert_array_equal(
        load_model(copy).predict_proba(nodes), load_model(model).predict_proba(nodes)
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "part", ["component0.ensemble.", "component0.path_vectors", "kernel_proba", "features.data"]
)
def test_weights_that_are_not_finite_are_refused(
    model: Path, tmp_path: Path, part: str, value: float
) -> None:
    def edit(held: dict[str, torch.Tensor]) -> None:
        next(tensor for name, tensor in held.items() if name.startswith(part)).view(-1)[0] = value

    with pytest.raises(
        FormatError, match=rf"weights\.safetensors: '{part[:12]}.* holds NaN or infinite numbers"
    ):
        load_model(repaired(model, tmp_path / "copy", tensors=edit))


@pytest.mark.parametrize(
    "files", [{}, {"weights.safetensors": "0" * 64}, {"network.hon": "0" * 64}, [], None]
)
def test_every_file_that_is_loaded_is_listed(model: Path, tmp_path: Path, files: Any) -> None:
    copy = repaired(model, tmp_path / "copy", put("files", files))
    with pytest.raises(FormatError, match=r"config\.json: 'files'|truncated or changed"):
        load_model(copy)


def test_a_file_elsewhere_is_not_listed(model: Path, tmp_path: Path) -> None:
    copy = repaired(model, tmp_path / "copy", lambda whole: whole["files"].update({"../x": "0" * 64}))
    with pytest.raises(FormatError, match="is not known"):
        load_model(copy)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (put("kind", 3), "'kind' must be text"),
        (put("kind", ["DGEClassifier"]), "'kind' must be text"),
        (put("seed", "x"), "'seed' must be a whole number of at least 0"),
        (put("seed", -1), "'seed' must be a whole number of at least 0"),
        (put("parameters", []), "'parameters' must be a JSON object"),
        (put(TRAINING + "checkpoint", "/tmp/x"), "'checkpoint' is not known"),
        (put(TRAINING + "device", "cuda"), "'device' is not known"),
        (
            put(LEARNER + "widths", "wide"),
            "'widths' parameter of SAGE must be whole numbers",
        ),
        (
            put(LEARNER + "widths", 2.5),
            "'widths' parameter of SAGE must be whole numbers",
        ),
        (put(LEARNER + "widths", [[3]]), "'widths' parameter"),
        (
            put(LEARNER + "fan_outs", 3),
            "'fan_outs' parameter of SAGE must have one number",
        ),
        (put(LEARNER + "fan_outs", [1e300, 1]), "'fan_outs' parameter"),
        (put("parameters.n_draws", 0), "'n_draws' parameter"),
        (put("parameters.n_draws", None), "'n_draws' parameter"),
        (put(LEARNER + "edge_power", "much"), "'edge_power' parameter"),
        (put("edge_power", "much"), "'edge_power' must be a number from 0 to 10"),
        (put(LEARNER + "mask_self", "yes"), "'mask_self' parameter .* True or False"),
        (
            put(KERNEL, {"object": "PathKernel", "parameters": {"vectors": None}}),
            "path_kernel.vectors",
        ),
        (
            put(KERNEL, {"object": "os.system", "parameters": {}}),
            "is no object of parameters",
        ),
        (
            put(KERNEL, {"object": "SAGE", "parameters": {}}),
            "'path_kernel' parameter .* must be None or",
        ),
        (put("parameters.learner", {"object": "SAGE", "parameters": {"magic": 1}}), "'magic' is not known"),
        (put("parameters.learner", {"object": "SAGE"}), "'parameters' is not there"),
        (put("parameters.learner", 7), "'learner' parameter of DGEClassifier must be one of"),
        (put(TRAINING + "class_weight", {"pairs": [["ash"]]}), "'pairs' must be pairs"),
        (
            put(TRAINING + "class_weight", {"pairs": [[["ash"], 1]]}),
            "'pairs' must be pairs",
        ),
        (put(TRAINING + "class_weight", {"weights": 1}), "'pairs' is not there"),
        (put(TRAINING + "learning_rate", "fast"), "'learning_rate' parameter"),
        (put("parameters.n_learners", 10**9), "n_learners|learners, more than|the parameters give"),
        (put("classes.values", ["oak", "ash", "elm"]), "'values' must be ascending"),
        (put("classes.values", [1, 2, 3]), "'values' must be a list of texts"),
        (put("classes.dtype", "O"), "'dtype' must be text or numbers. Got 'O'"),
        (put("classes.dtype", "U99999999999"), "'dtype' must be text or numbers"),
        (put("classes.values", ["ash"]), "kernel_proba"),
        (put("best_epochs", [1, "x"]), "'best_epochs' must be a list of whole numbers"),
        (put("history", {"loss": 1}), "'history' must be a list of JSON objects"),
        (put("history", [{"loss": [1]}]), "'loss' must be a number or text"),
        (put("selection_results", [{"gain": "x"}]), "'gain' must be a number"),
        (put("kernel_share", 7), "'kernel_share' must be a number from 0 to 1"),
        (put("kernel_share", "auto"), "'kernel_share' must be a number from 0 to 1"),
        (put("components", []), "a bag without components"),
        (put("components", 7), "'components' must be a list"),
        (put("components", [7]), "'components' must be a list of JSON objects"),
        (put(COMPONENT + "share", 2), "'share' must be a number from 0 to 1"),
        (put(COMPONENT + "share", 0.5), "shares of the components do not sum to 1"),
        (put(COMPONENT + "epochs", []), "not what a component holds"),
        (put(COMPONENT + "epochs", ["x"]), "'epochs' must be a list of whole numbers"),
        (put(COMPONENT + "learners", []), "'learners' must name learners"),
        (put(COMPONENT + "learners", ["sage"]), "'learners' must name learners"),
        (put(COMPONENT + "learners.0.object", "PathKernel"), "is not known|must name learners"),
        (put(COMPONENT + "learners.0.parameters.widths", "wide"), "'widths' parameter of SAGE"),
        (put(COMPONENT + "learners.0.parameters.widths", (16, 12)), "do not belong together"),
        (put(COMPONENT + "learners.0.parameters.magic", 1), "'magic' is not known"),
        (put(COMPONENT + "n_learners", 0), "'n_learners' must be a whole number from 1 to"),
        (put(COMPONENT + "n_learners", 2**40), "'n_learners' must be a whole number from 1 to"),
        (put(COMPONENT + "n_learners", 2**16), "does not belong to these weights|do not belong together"),
        (put(COMPONENT + "n_learners", 2), "do not belong together"),
        (put(COMPONENT + "network", 3), "'network' must be"),
        (put(COMPONENT + "magic", 3), "'magic' is not known"),
        (lambda config: config["components"].append(dict(config["components"][0])), "do not belong together"),
        (lambda config: config["components"][0].pop("share"), "'share' is not there"),
    ],
)
def test_configs_of_other_types_are_refused_in_one_line(
    model: Path, tmp_path: Path, edit: Edit, told: str
) -> None:
    with pytest.raises(FormatError, match=told) as caught:
        load_model(repaired(model, tmp_path / "copy", edit))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("terms.nodes", torch.full((30,), 60, dtype=torch.int32), "labelled entities .* are damaged"),
        ("terms.nodes", torch.zeros(30, dtype=torch.int64), "must be"),
        ("terms.labels", torch.full((30,), -1), "labelled entities .* are damaged"),
        ("terms.weights", torch.full((30,), 1e300, dtype=torch.float64), "labelled entities .* are damaged"),
        ("terms.weights", torch.ones(29, dtype=torch.float64), "must be"),
        ("terms.weights", None, "not what the terms of a path kernel are"),
        ("terms.9.vectors", torch.zeros(60, 2), "not what the terms of a path kernel are"),
        ("terms.0.vectors", torch.zeros(60, 0), "vectors or calibration|is empty"),
        ("terms.0.calibration", torch.full((6, 4, 3), 1e300, dtype=torch.float64), "vectors or calibration"),
        ("terms.0.calibration", torch.zeros(5, 4, 3, dtype=torch.float64), "must be"),
    ],
)
def test_terms_of_a_kernel_that_do_not_fit_are_refused(
    model: Path, tmp_path: Path, name: str, value: torch.Tensor | None, told: str
) -> None:
    def edit(held: dict[str, torch.Tensor]) -> None:
        held.pop(name, None)
        if value is not None:
            held[name] = value

    with pytest.raises(FormatError, match=told):
        load_model(repaired(model, tmp_path / "copy", tensors=edit))


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (put("kernel_terms", []), "not what the terms of a path kernel are"),
        (put("kernel_terms.0.share", 2), "'share' must be a number from 0 to 1"),
        (put("kernel_terms.0.penalty", 0), "'penalty' must be a number"),
        (put("kernel_terms.0.magic", 0), "'magic' is not known"),
    ],
)
def test_configs_of_terms_are_checked(model: Path, tmp_path: Path, edit: Edit, told: str) -> None:
    with pytest.raises(FormatError, match=told):
        load_model(repaired(model, tmp_path / "copy", edit))


@pytest.mark.parametrize(
    ("rows", "key", "value", "told"),
    [
        ("kernel_terms", "profiles", 10**6, "'profiles' must be"),
        ("kernel_terms", "profiles", 68, "a kernel without path vectors"),
        ("kernel_parts", "profiles", 68, "a kernel without path vectors"),
        ("kernel_parts", "profiles", 3, "must be of kind f4 and shape"),
        ("kernel_parts", "profiles_reach", 3, "'profiles_reach' must be"),
        ("kernel_parts", "profiles", None, "not what a kernel holds"),
    ],
)
def test_profiles_of_a_kernel_that_do_not_fit_are_refused(
    model: Path, tmp_path: Path, rows: str, key: str, value: int | None, told: str
) -> None:
    def edit(config: dict[str, Any]) -> None:
        (row,) = (row for row in config[rows] if row.get("profiles"))
        row.pop(key)
        if value is not None:
            row[key] = value

    with pytest.raises(FormatError, match=told):
        load_model(repaired(model, tmp_path / "copy", edit))


def test_parameters_that_need_more_memory_than_the_weights_are_refused(model: Path, tmp_path: Path) -> None:
    """Nothing of that size is made: at 65,000 × 65,000 numbers a learner this would end the process."""

    def edit(config: dict[str, Any]) -> None:
        config["components"][0]["learners"][0]["parameters"]["widths"] = [65_000, 65_000]

    with pytest.raises(FormatError, match="does not belong to these weights"):
        load_model(repaired(model, tmp_path / "copy", edit))


@pytest.mark.parametrize("deep", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_a_config_nested_too_deep_is_refused(model: Path, tmp_path: Path, deep: str) -> None:
    copy = repaired(model, tmp_path / "copy")
    (copy / "config.json").write_text(deep)
    with pytest.raises(FormatError, match=r"config\.json: not valid JSON \(nested too deep\)"):
        load_model(copy)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda held: held.pop("features.indptr"), "of the features is not what a model holds"),
        (lambda held: held.update({"features.indices": held["features.indices"] + 60}), "no sparse matrix"),
        (lambda held: held.update({"features.indices": held["features.indices"] - 60}), "no sparse matrix"),
        (lambda held: held["features.indptr"].__setitem__(5, 10**6), "no sparse matrix"),
        (lambda held: held["features.shape"].__setitem__(1, -1), "no sparse matrix"),
        (lambda held: held.update({"features.data": held["features.data"].double()}), "must be of kind f4"),
        (lambda held: held.update({VECTORS: held[VECTORS][:-1].clone()}), r"shape \(60, any\)"),
        (lambda held: held.update({"kernel_proba": held["kernel_proba"].T.contiguous()}), r"shape \(60, 3\)"),
        (lambda held: held.update({"other": torch.zeros(1)}), "'other' is not what a model holds"),
        (lambda held: held.update({"component0.other": torch.zeros(1)}), "not what a component holds"),
        (lambda held: held.update({"component0.ensemble.x": torch.zeros(1)}), "do not belong together"),
        (lambda held: held.update({"component1.x": torch.zeros(1)}), "do not belong together"),
        (lambda held: held.update({"components": torch.zeros(1)}), "do not belong together"),
        (lambda held: held.clear(), "do not belong together|is not what"),
    ],
)
def test_tensors_of_other_shapes_are_refused(model: Path, tmp_path: Path, edit: Edit, told: str) -> None:
    with pytest.raises(FormatError, match=told) as caught:
        load_model(repaired(model, tmp_path / "copy", tensors=edit))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [2.0, -0.5, 3e38])
def test_probabilities_of_a_kernel_that_are_none_are_refused(
    model: Path, tmp_path: Path, value: float
) -> None:
    copy = repaired(model, tmp_path / "copy", tensors=lambda held: held["kernel_proba"].fill_(value))
    with pytest.raises(FormatError, match="'kernel_proba' holds no probabilities"):
        load_model(copy)


def test_weights_that_overflow_are_told_when_they_predict(model: Path, tmp_path: Path) -> None:
    def edit(held: dict[str, torch.Tensor]) -> None:
        for name, tensor in held.items():
            if name.startswith("component0.ensemble."):
                tensor.copy_(torch.randn(tensor.shape, generator=torch.Generator().manual_seed(0)) * 3e38)

    loaded = load_model(repaired(model, tmp_path / "copy", tensors=lambda held: (edit(held), _clamp(held))))
    with pytest.raises(InputError, match="the predictions are not finite"):
        loaded.predict_proba(communities()[1])


def _clamp(held: dict[str, torch.Tensor]) -> None:
    """Keep every weight finite, as large as it can be."""
    for tensor in held.values():
        if tensor.is_floating_point():
            tensor.nan_to_num_(posinf=3e38, neginf=-3e38)


def test_weights_of_another_type_are_not_rounded_in_silence(model: Path, tmp_path: Path) -> None:
    def edit(held: dict[str, torch.Tensor]) -> None:
        name = next(name for name in held if name.startswith("component0.ensemble."))
        held[name] = torch.full_like(held[name], 1e300, dtype=torch.float64)

    with pytest.raises(FormatError, match=r"must be torch.float32. Got torch.float64 instead"):
        load_model(repaired(model, tmp_path / "copy", tensors=edit))


def fitted(kind: type, **given: Any) -> Any:
    hon, nodes, y = communities()
    model = kind(hon, random_state=0, n_threads=1, **nested(kind, given))
    return model.fit(nodes[::2], y[::2]) if "Classifier" in kind.__name__ else model.fit()


@pytest.mark.parametrize(
    ("kind", "given", "config", "tensors", "told"),
    [
        (
            GCNClassifier,
            {"max_epochs": 1, "widths": (8,)},
            put(LEARNER + "widths", "x"),
            None,
            "'widths' parameter of GCN",
        ),
        (
            GCNClassifier,
            {"max_epochs": 1, "widths": (8,)},
            put(LEARNER + "widths", 10**6),
            None,
            "does not belong to these weights",
        ),
        (
            GCNClassifier,
            {"max_epochs": 1, "widths": (8,)},
            put(LEARNER + "widths", 10**12),
            None,
            "does not belong to these weights",
        ),
        (
            GCNClassifier,
            {"max_epochs": 1},
            put("n_parameters", None),
            None,
            "'n_parameters' must be a whole number",
        ),
        (
            GCNClassifier,
            {"max_epochs": 1, "widths": (8,)},
            put(LEARNER + "widths", [3] * 1000),
            None,
            "must name 1 to",
        ),
        (PopularityPredictor, {}, put("parameters.directed", "x"), None, "'directed' parameter"),
        (PopularityPredictor, {}, put("classes.values", [0, 1, 2]), None, "the classes of links are 0 and 1"),
        (PopularityPredictor, {}, None, lambda h: h["out"].fill_(-5), "which are no degrees"),
        (PopularityPredictor, {}, None, lambda h: h.pop("line"), "'line' is not there"),
        (PopularityPredictor, {}, None, lambda h: h.update(line=h["line"].float()), "must be of kind f8"),
        (
            HONEMLinkPredictor,
            {"dimensions": 8},
            put("parameters.operator", "hadamard"),
            None,
            "coefficients for",
        ),
        (
            HONEMLinkPredictor,
            {"dimensions": 8},
            None,
            lambda h: h.update(embedding=h["embedding"][:9]),
            r"shape \(60",
        ),
        (
            DGELinkPredictor,
            {"max_epochs": 1},
            put("classes.values", [0, 2]),
            None,
            "the classes of links are 0 and 1",
        ),
        (
            DGELinkPredictor,
            {"max_epochs": 1, "pair_width": 8},
            put("parameters.pairs.parameters.operator", 5),
            None,
            "'operator' parameter",
        ),
    ],
)
def test_other_models_are_as_careful(
    tmp_path: Path, kind: type, given: dict[str, Any], config: Edit | None, tensors: Edit | None, told: str
) -> None:
    fitted(kind, **given).save(tmp_path / "model")
    with pytest.raises(FormatError, match=told):
        load_model(repaired(tmp_path / "model", tmp_path / "copy", config, tensors))


# --- classifiers of paths ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paths") / "model"
    paths = 12 * [["A", "B", "C"], ["C", "B", "A"]]
    PathClassifier(order=2, vectors=2, random_state=0).fit(paths, 12 * ["on", "back"]).save(folder)
    return folder


@pytest.mark.parametrize(
    ("config", "tensors", "told"),
    [
        (put("parameters.order", -1), None, "'order' parameter of PathClassifier"),
        (put("reading", {"min_length": "many"}), None, "'reading'.*min_length"),
        (None, lambda held: held["names"].fill_(255), "weights.safetensors: .*UTF-8"),
        (None, lambda held: held["scale"].zero_(), "'scale' must be above 0"),
        (None, lambda held: held["coef"].fill_(1e200), "numbers of more than"),
        (None, lambda held: held.update({"keys.0": held["keys.0"].flip(0)}), "numbers of grams"),
        (None, lambda held: held.update({"keys.0": held["keys.0"] + 10**6}), "numbers of grams"),
        (None, lambda held: held.pop("rarity"), "'rarity' is not there"),
    ],
)
def test_a_classifier_of_paths_is_believed_no_more(
    path_model: Path, tmp_path: Path, config: Edit | None, tensors: Edit | None, told: str
) -> None:
    with pytest.raises(FormatError, match=told) as caught:
        load_model(repaired(path_model, tmp_path / "copy", config, tensors))
    assert "\n" not in str(caught.value)
