"""Reasons for predictions: which memories, neighbours and paths moved one, and by how much.

In: a fitted estimator and names. Out: :class:`~honlearn.tasks.explain.value.Explanation`.
"""
