"""Path vectors, kernel ridge regression on them, and its calibration.

In: a network and labelled codes. Out: class probabilities of all entities, with a share of the prediction
that :mod:`honlearn.tasks` chooses, and the terms that they are made of.
"""
