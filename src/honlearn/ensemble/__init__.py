"""Ensembles of learners: heads, training, inference, for nodes and pairs."""
