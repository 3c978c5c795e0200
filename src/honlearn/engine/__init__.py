"""The learners' arithmetic: compiled kernels, neighbourhoods, buffers, optimiser. Private.

In: networks, roots and stacked weights. Out: representations and their gradients, for
:mod:`honlearn.learners` and :mod:`honlearn.ensemble`.
"""
