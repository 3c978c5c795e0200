"""From a table to predictions and a page in one call: the rooms before it, used one after the other.

In: paths in any form, perhaps labels. Out: a folder, or one value in memory, with everything that was found.
"""
