"""What the two networks of a comparison are called: first-order and higher-order.

In: a key or a name, as typed or as in a record. Out: the other of the two. Records keep the short keys
``g1`` and ``gk``; tables, pages and help have the names. Either is understood where one is typed.
"""

from __future__ import annotations

NETWORKS = {"gk": "higher-order", "g1": "first-order"}
_KEYS = {name: key for key, name in NETWORKS.items()}


def network_name(key: str) -> str:
    """Return the name of a network by its key in records.

    >>> network_name("g1"), network_name("auto")
    ('first-order', 'auto')
    """
    return NETWORKS.get(key, key)


def network_key(word: str) -> str:
    """Return the key of a network in records, by its name or the key itself.

    >>> network_key("higher-order"), network_key("gk"), network_key("both")
    ('gk', 'gk', 'both')
    """
    return _KEYS.get(word, word)
