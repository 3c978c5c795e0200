"""Evaluation of models on links: a grid of (model, input, repetition), one record each.

In: a network, models with settings, a protocol and a run folder. Out: records in that folder, each on the
disk as soon as it is known. Every repetition holds out other pairs; all models and inputs are tested on the
same ones, and none is ever shown more than the network without them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.experiments.artefacts import PairAnswers, keep_link_answers
from honlearn.experiments.evaluate import ModelSpec, distinct_names
from honlearn.experiments.link_data import STRICT, LinkData
from honlearn.experiments.link_metrics import HITS, link_scores
from honlearn.experiments.link_ranking import HITS as RANKED_HITS
from honlearn.experiments.link_ranking import candidate_entities, filtered_ranks, pair_scorer, ranking_scores
from honlearn.experiments.runner import Watch, run_all, threads_for
from honlearn.experiments.stopwatch import Moment, fit_times
from honlearn.results.artefacts import write_network
from honlearn.results.link_tests import keep_test
from honlearn.results.record import Configuration, DataDigests, Record, Sizes
from honlearn.results.records import digest_of, network_digest, plain
from honlearn.seeds import derive_seed
from honlearn.tasks.link_split import LinkSplit
from honlearn.versions import versions

MAIN = {"degree": "degree_auprc", "uniform": "auprc"}
SCORES = (
    "degree_auprc",
    "degree_auroc",
    "auprc",
    "auroc",
    "filtered_mrr",
    *(f"filtered_hits_at_{k}" for k in RANKED_HITS),
    "mrr",
    *(f"hits_at_{k}" for k in HITS),
    "single_auprc",
    "gain",
    "disagreement",
)


def scores_of(negatives: str) -> tuple[str, ...]:
    """Return the scores of a protocol, the main one first: degree-corrected where there are such pairs."""
    main = MAIN["uniform" if negatives == "uniform" else "degree"]
    return (main, *(name for name in SCORES if name != main))


@dataclass(frozen=True)
class LinkJob:
    """One fit and one test: who, on which view of the network, in which repetition."""

    spec: ModelSpec
    input: str
    repetition: int
    seed: int
    configuration: Configuration
    digest: str


def plan_links(data: LinkData, specs: Sequence[ModelSpec], seed: int) -> list[LinkJob]:
    """Return the jobs in the order in which they run: repetition by repetition, model by model.

    Models of one repetition follow each other, since they share what is computed from the same pairs.
    """
    distinct_names(specs)
    digest, protocol = network_digest(data.network), data.protocol
    jobs = []
    made = [ModelSpec(spec.entry, {**spec.settings, "directed": protocol.directed}) for spec in specs]
    parameters = [given.configuration() for given in made]
    for repetition in range(protocol.repetitions):
        drawn = derive_seed(seed, "link repetition", repetition)
        for (given, known), name in product(zip(made, parameters, strict=True), data.inputs):
            configuration = Configuration(
                task="links",
                model=given.entry.name,
                input=name,
                seed=seed,
                folds=data.division,
                fold=repetition,
                parameters=known,
                data=DataDigests(digest, test=data.test(drawn).digest),
            )
            own = digest_of(configuration.to_json())
            jobs.append(LinkJob(given, name, repetition, drawn, configuration, own))
    return jobs


def run_link_job(
    job: LinkJob, data: LinkData, artefacts_in: str | Path | None = None, threads: int | None = None
) -> Record:
    """Fit on what may be seen, test on the pairs held out, and return the record.

    With `artefacts_in` a run folder, what the report shows of this fit is kept there.
    """
    split, visible = data.split(job.seed), data.visible(job.input, job.seed)
    estimator = job.spec.make(visible.network, derive_seed(job.seed, "fit"), threads, visible.paths)
    start = Moment.now()
    estimator.fit(exclude=split.names)
    fitted = Moment.now()
    linked = estimator.predict_proba(split.names)[:, 1]
    members = estimator.member_proba(split.names)[:, :, 1] if hasattr(estimator, "member_proba") else None
    done = Moment.now()
    if not np.isfinite(linked).all():
        raise InputError(
            f"{type(estimator).__name__}: its probabilities are not finite, so the training diverged; "
            "lower learning_rate"
        )
    scores = tested_scores(split, linked, members) | ranking_scores(_ranks(estimator, job, data))
    if artefacts_in is not None:
        tested = PairAnswers(split.names, split.labels, split.kinds, linked, members)
        # New links are asked for once per model and input; other repetitions would only repeat them.
        whole = data.network if job.repetition == 0 else None
        keep_link_answers(artefacts_in, job.digest, estimator, tested, whole)
    counts = split.counts
    sizes = Sizes(
        train=2 * (counts["positives"] - counts["tested"] - counts["reversed"]),
        test=len(split.labels),
        counts=counts,
        parameters=plain(getattr(estimator, "n_parameters_", None)),
    )
    times = fit_times(start, fitted, done)
    return Record(job.digest, job.configuration, scores, sizes, times, versions())


def tested_scores(
    split: LinkSplit, linked: NDArray[Any], members: NDArray[Any] | None
) -> dict[str, float | None]:
    """Return the scores on the test pairs: of uniform negatives by their usual names, of others ``degree_…``.

    The log loss and what concerns members (single, gain, disagreement) are of the uniform part, or of the
    only one.
    """
    scores: dict[str, float | None] = {}
    for kind in split.negatives[::-1]:
        part = split.part(kind)
        found = link_scores(split.labels[part], linked[part], None if members is None else members[:, part])
        if kind == "degree":
            scores |= {f"degree_{name}": found[name] for name in ("auprc", "auroc")}
            scores |= {name: found[name] for name in ("log_loss", "single_auprc", "gain", "disagreement")}
        else:
            scores |= found
    return scores


def _ranks(estimator: Any, job: LinkJob, data: LinkData) -> NDArray[np.float64] | None:
    """Return the rank of every tested link, None where none are asked for or the model scores too slowly."""
    split, size = data.split(job.seed), data.network.n_entities
    score = pair_scorer(estimator, data.network.vocabulary.names) if data.protocol.ranked else None
    if score is None:
        return None
    # One list of candidates for all models, inputs and repetitions of a seed.
    candidates = candidate_entities(size, job.configuration.seed)
    links = split.pairs[split.labels == 1]
    return filtered_ranks(score, links, data.linked, candidates, size, data.protocol.directed)


@dataclass(frozen=True)
class LinkWork:
    """What the runner does with a job on links; with `artefacts_in` what the report shows is kept there."""

    data: LinkData
    artefacts_in: Path | None = None
    threads: int | None = None

    def lacks(self, job: LinkJob) -> bool:
        """Return False: a record of links is all there is."""
        return False

    def run(self, job: LinkJob) -> Record:
        """Fit and test once, and return the record."""
        return run_link_job(job, self.data, self.artefacts_in, self.threads)


def evaluate_links(
    data: LinkData,
    jobs: Sequence[LinkJob],
    folder: str | Path,
    *,
    keep_artefacts: bool = False,
    processes: int = 1,
    executor: Any = None,
    watch: Watch | None = None,
) -> Iterator[tuple[LinkJob, Record, bool]]:
    """Run the jobs that have no record in `folder`; yield each job, its record, and whether it ran now."""
    work = LinkWork(
        data, Path(folder).absolute() if keep_artefacts else None, threads_for(processes, executor)
    )
    keep_tests(folder, data, jobs)
    if keep_artefacts:
        write_network(folder, data.network)
    yield from run_all(work, jobs, folder, processes=processes, executor=executor, watch=watch)


def keep_tests(folder: str | Path, data: LinkData, jobs: Iterable[LinkJob]) -> None:
    """Keep the test pairs of all jobs in the run folder."""
    for seed in dict.fromkeys(job.seed for job in jobs):
        keep_test(folder, data.test(seed))


class Optimism(NamedTuple):
    """How much higher a model scores by the paper's protocol: the mean difference over paired records."""

    model: str
    input: str
    score: str
    difference: float
    records: int


def optimism(records: Iterable[Record]) -> list[Optimism]:
    """Return the paper's protocol less the strict one for every model that was tested by both, alike."""
    known: dict[tuple[Any, ...], dict[bool, Record]] = {}
    for record in records:
        asked = record.configuration
        if asked.task == "links" and asked.search is None:
            alike = (asked.name, asked.input, digest_of(dict(asked.parameters)), record.test_part)
            known.setdefault(alike, {})[STRICT in (asked.folds or "")] = record
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for (model, name, *_), both in known.items():
        if len(both) == 2:
            main = both[True].main_score
            gap = both[False].score(main) - both[True].score(main)
            found.setdefault((model, name), []).append((main, gap))
    return [
        Optimism(*key, gaps[0][0], statistics.fmean(gap for _, gap in gaps), len(gaps))
        for key, gaps in found.items()
    ]
