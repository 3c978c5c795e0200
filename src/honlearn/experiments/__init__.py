"""Experiments: models by name, folds, scores, and runs that go on where they stopped.

In: networks, paths, labels and names of models. Out: records in a run folder, tables and figures. It imports
nothing by itself, so that the command line may read the names of models without torch.
"""
