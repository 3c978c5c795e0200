"""Models: base learners stacked along a learner axis, and the ensembles that pool them."""
