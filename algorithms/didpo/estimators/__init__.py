"""What a change is worth, one small pure module per answer; :mod:`algorithms.didpo.algorithm` gives it to tokens.

``place``, ``marginal`` and ``regression`` use the rollouts alone; ``counterfactual`` and ``shapley`` execute. The
published rule, ``within``, compares occurrences of an anchor and is :func:`algorithms.core.groups.within`.

All of them share a reply's tokens in the same way, decided by :func:`algorithms.didpo.places.places_of`: the bytes that
*write the content* of a change (a hunk's ``source``) get A_D, alone or beside A_E (``algorithm.content``); those that
*name its place* (path, searched text) keep A_E, as do the thought and all others. Of a deletion, which writes nothing,
the bytes that name what goes are the content.
"""
