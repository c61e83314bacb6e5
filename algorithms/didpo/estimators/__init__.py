"""What a change is worth, one small pure module per answer; :mod:`algorithms.didpo.algorithm` gives it to tokens.

``place``, ``marginal`` and ``regression`` use the rollouts alone; ``counterfactual`` and ``shapley`` execute. The
published rule, ``within``, compares occurrences of an anchor and is :func:`algorithms.core.groups.within`.
"""
