"""The learners' arithmetic: compiled kernels, neighbourhoods, buffers, optimiser. Private."""
