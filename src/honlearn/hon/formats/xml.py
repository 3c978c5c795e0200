"""What the two XML formats share: names made safe for XML, or refused where XML has no way to hold them.

In: names of entities. Out: quoted attribute values for :mod:`~honlearn.hon.formats.graphml` and
:mod:`~honlearn.hon.formats.gexf`.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

from honlearn.errors import InputError
from honlearn.hon.network import HigherOrderNetwork

# Line breaks and tabs in an attribute are read back as spaces unless they are written as references.
_WHITE = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;", "\x85": "&#133;", "\u2028": "&#8232;"}
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def attribute(text: str) -> str:
    """Return `text` as a quoted XML attribute value.

    >>> attribute('a "b" & <c>')
    '\\'a "b" &amp; &lt;c&gt;\\''
    """
    return quoteattr(text, _WHITE)


def check_names(network: HigherOrderNetwork, path: Path) -> None:
    """Raise if a name has a character that no XML file can hold (most control characters)."""
    for name in network.vocabulary.names:
        found = _FORBIDDEN.search(name)
        if found:
            raise InputError(
                f"{path}: the entity {name!r} has U+{ord(found[0]):04X}, which XML cannot hold; "
                "rename it or use .hon, .txt or .parquet"
            )
