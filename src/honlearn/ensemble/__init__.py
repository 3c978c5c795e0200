"""Ensembles of learners: heads, training, inference, for nodes and pairs.

In: learners, a network and labelled codes. Out: trained weights, what was held back, and predictions; names
are for :mod:`honlearn.tasks`.
"""
