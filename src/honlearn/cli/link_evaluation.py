"""``honlearn evaluate NET|PATHS -o RUN --task links``: models compared on links held out, or that come later.

In: what the command was given. Out: a run folder with one record for each model, input and repetition, the
test pairs, and a table that leads with the degree-corrected score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from honlearn.cli import settings as words
from honlearn.cli.links import Execution
from honlearn.cli.next_evaluation import refuse_options_of_files

if TYPE_CHECKING:
    from honlearn.experiments.evaluate import ModelSpec
    from honlearn.experiments.link_data import LinkData, LinkProtocol
    from honlearn.paths.paths import Paths
    from honlearn.results.record import Record

Columns = dict[str, tuple[str, int]]
_ENDS: Columns = {
    "MRR": ("filtered_mrr", 3),
    "hits@10": ("filtered_hits_at_10", 3),
    "hits@50": ("filtered_hits_at_50", 3),
    "single": ("single_auprc", 3),
    "fit s": ("fit_seconds", 1),
    "CPU s": ("fit_cpu_seconds", 1),
}
COLUMNS: Mapping[str, Columns] = {
    "both": {"AUPRC degree": ("degree_auprc", 3), "AUPRC uniform": ("auprc", 3), **_ENDS},
    "degree": {"AUPRC degree": ("degree_auprc", 3), "AUROC degree": ("degree_auroc", 3), **_ENDS},
    "uniform": {"AUPRC": ("auprc", 3), "AUROC": ("auroc", 3), **_ENDS},
}
OPTIMISTIC = (
    "note: --protocol paper hides the edges between the families of a tested pair, as the paper does; "
    "contexts that exist only because of a tested step stay and tell of it, so its scores are optimistic"
)


class LinkSource(NamedTuple):
    """Where links come from: a network, perhaps with its paths, or paths; how these are read and divided."""

    given: Path
    paths: Path | None
    reading: Mapping[str, Any]
    order: int | None
    moment: str | None

    def data(self, protocol: LinkProtocol, which: str) -> LinkData:
        """Return the links to test by a protocol."""
        from honlearn.cli.kinds import is_network
        from honlearn.errors import ParameterError
        from honlearn.experiments.link_data import LinkData, grown_from
        from honlearn.hon.formats import load_network

        if not is_network([str(self.given)], {} if self.paths is not None else self.reading):
            return self._from_paths(protocol, which)
        for option, value in (("--split-at", self.moment), ("--order", self.order)):
            if value is not None:
                raise ParameterError(f"{option} {value}: {self.given} is a network; name its paths instead")
        network = load_network(self.given)
        paths = None if self.paths is None else self._read(self.paths)
        source = None if paths is None else grown_from(paths, network, self.paths)
        return LinkData(network, protocol, which, source)

    def _from_paths(self, protocol: LinkProtocol, which: str) -> LinkData:
        """Grow the network of the paths that are given, by evidence."""
        import numpy as np

        from honlearn.errors import ParameterError
        from honlearn.experiments.link_data import LaterLinks, LinkData
        from honlearn.hon.build import grow
        from honlearn.hon.grown_from import GrownFrom

        if self.paths is not None:
            raise ParameterError(
                f"--paths {self.paths} is for a network, and {self.given} holds paths; give one of the two"
            )
        if self.moment is None:
            paths, late = self._read(self.given), None
        else:
            from honlearn.paths.timed import read_timed

            if self.given.is_dir():
                refuse_options_of_files(self.given, self.reading, self.moment)
            whole, early = read_timed(str(self.given), self.moment, **self.reading)
            if early.all() or not early.any():
                side = "before" if early.all() else "at or after"
                raise ParameterError(f"--split-at {self.moment}: all paths began {side} it; choose another")
            paths, late = (whole.take(np.flatnonzero(part)) for part in (early, ~early))
        network = grow(paths, self.order or 2)
        assert network.parameters is not None
        later = None
        if late is not None:
            later = LaterLinks.of(network, late, str(self.moment), protocol.directed)
        return LinkData(network, protocol, which, GrownFrom(paths, network.parameters), later)

    def _read(self, path: Path) -> Paths:
        """Return the paths of a file, pattern or data set's folder."""
        if path.is_dir():
            from honlearn.datasets import load_folder

            refuse_options_of_files(path, self.reading, self.moment)
            return load_folder(path).paths
        from honlearn.paths.source import read_paths

        return read_paths(str(path), **self.reading)


def evaluate_on_links(
    source: LinkSource,
    output: Path,
    models: list[str],
    set_: list[str] | None,
    seed: int,
    which: str,
    held_out: tuple[float, int, bool, str, str],
    protocol: str,
    ranked: bool,
    how: Execution,
) -> None:
    """Hold out links again and again, test models on them, and print a table."""
    from honlearn.cli.run_tables import origin, print_run, show_plan, tell_of_others
    from honlearn.cli.stopping import run_folder
    from honlearn.errors import ParameterError, check_choice
    from honlearn.experiments import links as engine
    from honlearn.experiments.evaluate import ModelSpec
    from honlearn.experiments.link_data import LinkData, LinkProtocol
    from honlearn.experiments.registry import find_model
    from honlearn.results.records import Records
    from honlearn.results.summary import write_summary

    check_choice("evaluate", "protocol", protocol, ("strict", "paper", "both"))
    if source.moment is not None and protocol != "strict":
        raise ParameterError(
            f"--split-at {source.moment} hides nothing, later links being in no earlier path; leave out "
            "--protocol"
        )
    entries = list({e.name: e for e in (find_model(name, "links") for name in models)}.values())
    words.check_owners(set_, entries)
    specs = [ModelSpec(entry, words.parse_settings(set_, entry, entries)) for entry in entries]
    asked = ["strict", "paper"] if protocol == "both" else [protocol]
    first = source.data(LinkProtocol(*held_out, hides=asked[0], ranked=ranked), which)
    compared = [
        LinkData(first.network, replace(first.protocol, hides=hides), which, first.source, first.later)
        for hides in asked
    ]
    plans = [(data, engine.plan_links(data, specs, seed)) for data in compared]
    jobs = [job for _, planned in plans for job in planned]
    notes = _notes(plans[0][0], jobs[0].seed, which, asked, specs)
    for note in notes:
        typer.echo(note, err=True)
    if how.dry_run:
        show_plan(jobs, output, dict.fromkeys(first.inputs, first.network.n_edges), how.width)
        return
    with run_folder(output):
        tell_of_others(output, jobs)
        rows = [row for data, planned in plans for row in _run(data, planned, output, how)]
        gaps = _gaps(list(Records(output)), specs)
        about: dict[str, Any] = {
            "network": str(source.given),
            "task": "links",
            "protocol": " | ".join(data.division for data in compared),
            "notes": notes,
            "optimism": gaps,
        }
        about |= origin()
        write_summary(output, rows, about)
    more = f"test_pairs; look at it: honlearn report {output}"
    print_run(output, about, _labelled(rows, how), COLUMNS[held_out[-1]], how.as_json, more)
    for gap in [] if how.as_json else gaps:
        typer.echo(gap)


def _run(data: LinkData, jobs: Sequence[Any], output: Path, how: Execution) -> list[dict[str, Any]]:
    """Run the jobs of one protocol; return a summary for each model and input."""
    from honlearn.cli.run_tables import run_jobs
    from honlearn.cli.watch import BOTH_SHOWN, DEGREE_SHOWN, LINKS_SHOWN
    from honlearn.experiments import links as engine

    negatives = data.protocol.negatives
    shown = {"both": BOTH_SHOWN, "degree": DEGREE_SHOWN, "uniform": LINKS_SHOWN}[negatives]
    rows = run_jobs(
        engine.evaluate_links,
        data,
        jobs,
        output,
        how,
        engine.scores_of(negatives),
        shown,
        part="repetition",
        keep_artefacts=how.artefacts,
    )
    return [{**row, "protocol": data.protocol.hides} for row in rows]


def _labelled(rows: list[dict[str, Any]], how: Execution) -> list[dict[str, Any]]:
    """Return the rows as a table shows them: what is optimistic is called so."""
    if how.as_json:
        return rows
    return [
        {**row, "model": f"{row['model']} (paper protocol)"} if row["protocol"] == "paper" else row
        for row in rows
    ]


def _notes(
    data: LinkData, seed: int, which: str, asked: Sequence[str], specs: Sequence[ModelSpec]
) -> list[str]:
    """Return what a reader must know of the test before believing a score."""
    from honlearn.cli.evaluate import NO_MEMORY

    split = data.split(seed)
    counts, kinds = (
        split.counts,
        " and as many ".join(
            {"uniform": "others, drawn uniformly,", "degree": "others, drawn by degree,"}[kind]
            for kind in split.negatives
        ),
    )
    notes = [] if which == "g1" or "gk" in data.inputs else [NO_MEMORY]
    if data.later is not None:
        notes.append(
            f"note: {counts['tested']:,} links that first appear after {data.later.moment} between known "
            f"entities and as many {kinds} are tested; the network is that of the paths before"
        )
    else:
        notes.append(
            f"note: {counts['tested']:,} of {counts['positives']:,} linked pairs and as many {kinds} are "
            f"tested; {counts['hidden_edges']:,} edges and {counts['hidden_contexts']:,} contexts are hidden;"
            f" {counts['excluded']:,} pairs were passed over as an entity's last link, "
            f"{counts['isolated']:,} entities are left without edges (repetition 0)"
        )
        if data.source is None and "strict" in asked and "gk" in data.inputs:
            notes.append(
                "note: which contexts are nodes was decided with the tested steps in place; with --paths "
                "PATHS the network is grown without them"
            )
    notes += [OPTIMISTIC] if "paper" in asked and data.later is None else []
    if data.protocol.ranked:
        slow = [
            one.entry.name for one in specs if not getattr(one.entry.estimator(), "scores_all_pairs", True)
        ]
        notes += [f"note: {name} cannot score all pairs and has no ranking" for name in slow]
    return notes


def _gaps(records: Sequence[Record], specs: Sequence[ModelSpec]) -> list[str]:
    """Return how optimistic the paper's protocol is, in words, for the models of this command."""
    from honlearn.experiments.links import optimism
    from honlearn.results.networks import network_name

    names = {one.entry.name for one in specs}
    return [
        f"paper protocol minus strict, {one.model} on {network_name(one.input)}: {one.difference:+.3f} "
        f"({one.score.replace('_', ' ')}, {one.records} pairs of fits)"
        for one in optimism([record for record in records if record.configuration.model in names])
    ]
