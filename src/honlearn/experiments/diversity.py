"""The predictions of the learners of an ensemble: how alike pairs of them are, and what each more adds.

In: answers that fits have left (members [L, B, C], the truth). Out: facts: for each pair of learners Cohen's
kappa and their mean loss (the paper's figures of diversity), and scores of the first 1, 2, … learners. The
first of the learners of a bag are a bag of that size, since a learner does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.results.artefacts import Answers, read_answers
from honlearn.results.metrics import kappas, log_loss, losses
from honlearn.results.record import Record

Numbers = NDArray[np.floating[Any]]


def tested(answers: Answers) -> tuple[NDArray[np.int64], Numbers, Numbers | None]:
    """Return the true classes [B] by number, the probabilities [B, C] and those of the members [L, B, C]."""
    place = {name: number for number, name in enumerate(answers.about["classes"])}
    truth = np.array([place[label] for label in answers.about["truth"]], np.int64)
    return truth, answers.arrays["proba"], answers.arrays.get("members")


def answers_of(folder: Path, records: Sequence[Record]) -> Iterator[tuple[Record, Answers]]:
    """Yield each record with the predictions of its fit; missing predictions are an error."""
    for record in records:
        found = read_answers(folder, record.digest)
        if found is None:
            raise InputError(f"{folder}: the answers of a fit are missing; run again and they are made")
        yield record, found


def _fit_of(record: Record) -> dict[str, Any]:
    """Return which fit a fact is of."""
    asked = record.configuration
    return {"model": asked.model, "input": asked.input, "seed": asked.seed, "fold": asked.fold}


def pair_facts(folder: Path, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return one fact for each pair of learners in each record: kappa, and the mean of their losses."""
    facts = []
    for record, answers in answers_of(folder, records):
        truth, _, members = tested(answers)
        if members is None or len(members) < 2:
            continue
        agreement = kappas(members.argmax(2), members.shape[2])
        loss = losses(truth, members).mean(1)
        for a in range(len(members)):
            for b in range(a + 1, len(members)):
                facts.append(
                    {
                        **_fit_of(record),
                        "learner": a,
                        "other": b,
                        "kappa": float(agreement[a, b]),
                        "loss": float((loss[a] + loss[b]) / 2),
                    }
                )
    return facts


def size_facts(folder: Path, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return one fact for each record and number of learners: micro F1 and loss of that many."""
    facts = []
    for record, answers in answers_of(folder, records):
        truth, _, members = tested(answers)
        if members is None:
            continue
        sums = np.cumsum(np.asarray(members, np.float64), 0)
        for count in range(1, len(members) + 1):
            mean = sums[count - 1] / count
            facts.append(
                {
                    **_fit_of(record),
                    "learners": count,
                    "micro_f1": float((mean.argmax(1) == truth).mean()),
                    "log_loss": log_loss(truth, mean),
                }
            )
    return facts


def fitted_size_facts(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return one fact for each record: micro F1 and loss of an ensemble that was fitted with its size."""
    return [
        {
            **_fit_of(record),
            "learners": int(record.configuration.parameters["n_learners"]),
            **{score: record.score(score) for score in ("micro_f1", "log_loss")},
        }
        for record in records
    ]
