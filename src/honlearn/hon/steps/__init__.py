"""What comes next: a smoothed model of steps over the counts of grams, scores of paths, anomalies, memory.

In: :class:`~honlearn.hon.build.GramCounts`, or a network. Out: a :class:`~honlearn.hon.steps.model.StepModel`
and what is asked of it. Nothing here imports torch.
"""
