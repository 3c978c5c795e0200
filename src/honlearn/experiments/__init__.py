"""Experiments: models by name, folds, scores, and runs that go on where they stopped.

Imports nothing by itself, so that the command line may read the names of models without torch.
"""
