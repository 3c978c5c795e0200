"""The models that ours is compared with: one file a model, one contract, one catalogue.

In: a network and labelled nodes or pairs. Out: estimators with the contract of ``DGEClassifier`` and
``DGELinkPredictor``, so that everything to the right (evaluation, command line, report) takes either.
"""
