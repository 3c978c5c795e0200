"""Mutation testing: small faults in chosen modules, each of which their own tests have to notice."""
