"""Which modules are mutated, by which tests they are judged, and which mutants change nothing."""

from __future__ import annotations

from mutation.runner import Target

TARGETS = {
    target.module: target
    for target in (
        Target("honlearn.hon.prune", ("tests/hon/test_prune.py",), compiled=True),
        Target("honlearn.hon.false_discovery", ("tests/hon/test_false_discovery.py",)),
        Target("honlearn.sampling.relatives", ("tests/sampling/test_relatives.py",)),
        Target("honlearn.sampling.pairs", ("tests/sampling/test_pairs.py",)),
        Target("honlearn.experiments.folds", ("tests/experiments/test_folds.py",)),
        Target("honlearn.tasks.link_split", ("tests/tasks/test_link_split.py",)),
        Target("honlearn.conformal", ("tests/test_conformal.py",)),
        Target("honlearn.tasks.shares", ("tests/tasks/test_shares.py",)),
        Target("honlearn.tasks.temperature", ("tests/tasks/test_temperature.py",)),
    )
}

# By module, then (line of code, before, after): why no test can tell the two apart.
EQUIVALENT: dict[str, dict[tuple[str, str, str], str]] = {
    "honlearn.conformal": {
        (
            "known = values[(1.0 + above) / (n + 1.0) > alpha + 1e-12]",
            "(1.0 + above) / (n + 1.0) > alpha + 1e-12",
            "(1.0 + above) / (n + 1.0) >= alpha + 1e-12",
        ): "1e-12 stands for rounding; a p-value is a ratio of counts and never lies exactly at its edge",
    },
    "honlearn.tasks.link_split": {
        (
            "wanted = len(drawn[0])",
            "drawn[0]",
            "drawn[1]",
        ): "as many pairs of every kind are drawn as there are linked ones",
        (
            "space = size * (size - 1) // (1 if directed else 2)",
            "1 if directed else 2",
            "1 if directed else 3",
        ): "without direction no unlinked pair is passed over, so that none is needed to spare",
        (
            "return min(wanted // 4 + 16, max(space - len(linked) - wanted, 0))",
            "wanted // 4",
            "wanted // 5",
        ): "how many are drawn to spare is a choice; more or fewer are as uniform",
        (
            "return min(wanted // 4 + 16, max(space - len(linked) - wanted, 0))",
            "wanted // 4 + 16",
            "wanted // 4 + 17",
        ): "how many are drawn to spare is a choice; more or fewer are as uniform",
    },
    "honlearn.tasks.shares": {
        (
            "shares = np.full((_DRAWS, len(given)), 1 / len(given))",
            "1 / len(given)",
            "1 * len(given)",
        ): "the first step makes the sum of the shares 1, whatever it was before",
        (
            "shares = np.full((_DRAWS, len(given)), 1 / len(given))",
            "1 / len(given)",
            "2 / len(given)",
        ): "the first step makes the sum of the shares 1, whatever it was before",
        (
            "return np.asarray(mean / mean.sum())",
            "mean / mean.sum()",
            "mean * mean.sum()",
        ): "every step keeps the sum at 1 but for rounding, which is all that is taken out",
        (
            "if of_kernel <= MOST_KERNEL:",
            "of_kernel <= MOST_KERNEL",
            "of_kernel < MOST_KERNEL",
        ): "at three quarters exactly the bound changes nothing",
    },
    "honlearn.sampling.pairs": {
        (
            "while len(found) < count:",
            "len(found) < count",
            "len(found) <= count",
        ): "what one more round would add is cut off",
        (
            "some = random.integers(0, n_entities, (2 * (count - len(found)) + 16, 2), dtype=np.int32)",
            "2 * (count - len(found))",
            "3 * (count - len(found))",
        ): "how many pairs are tried at once is a matter of speed; any number is as uniform",
        (
            "some = random.integers(0, n_entities, (2 * (count - len(found)) + 16, 2), dtype=np.int32)",
            "count - len(found)",
            "count + len(found)",
        ): "how many pairs are tried at once is a matter of speed; any number is as uniform",
        (
            "some = random.integers(0, n_entities, (2 * (count - len(found)) + 16, 2), dtype=np.int32)",
            "2 * (count - len(found)) + 16",
            "2 * (count - len(found)) + 17",
        ): "how many pairs are tried at once is a matter of speed; any number is as uniform",
        (
            "some = random.integers(0, n_entities, (2 * (count - len(found)) + 16, 2), dtype=np.int32)",
            "(2 * (count - len(found)) + 16, 2)",
            "(2 * (count - len(found)) + 16, 3)",
        ): "a third number of each trial is not read",
    },
    "honlearn.tasks.temperature": {
        (
            "_PARTS = 5",
            "_PARTS = 5",
            "_PARTS = 6",
        ): "in how many parts examples are judged is a choice; more parts find the same temperature",
        (
            "if excess(least) <= 0:",
            "excess(least) <= 0",
            "excess(least) < 0",
        ): "at the least temperature exactly, the one that is sought is the least",
        (
            "if excess(most) >= 0:",
            "excess(most) >= 0",
            "excess(most) > 0",
        ): "at the highest temperature exactly, the one that is sought is the highest",
    },
}
