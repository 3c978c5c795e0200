"""Damage inside XML: tags, attributes and values that move or change, declarations, entities, deep nesting.

In: a generator and the text of an XML document. Out: a text that often is well-formed still.
"""

from __future__ import annotations

import re
from random import Random

from fuzz.mutate_bytes import FIELDS

_TAG = re.compile(rb"<[^>]*>")
_VALUE = re.compile(rb'"[^"]*"')
_LAUGHS = b'<!DOCTYPE log [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
_OUTSIDE = b'<!DOCTYPE log SYSTEM "/etc/hostname" [<!ENTITY x SYSTEM "/etc/hostname">]>'
_PIECES = [_LAUGHS, _OUTSIDE, b"&c;", b"&x;", b"&#0;", b"&#xD800;", b"&lt;", b"<![CDATA[x]]>", b"<!-- x -->"]
_PIECES += [b"<event/>", b"<trace/>", b"<event>", b"</event>", b"</trace>", b"</log>", b"<log>", b"<?x y?>"]
_PIECES += [
    b"<x:event xmlns:x='y'/>",
    b"<list><values/></list>",
    b"<!--" + b"-x" * 3000,
    b"<a " + b"b" * 9000,
]
_PIECES += [b"<a>" * depth + b"</a>" * depth for depth in (10, 60, 70, 5000)]
_ENCODINGS = [
    b"UTF-16",
    b"ISO-8859-1",
    b"US-ASCII",
    b"cp1252",
    b"shift_jis",
    b"utf-7",
    b"no-such",
    b"idna",
    b"",
]


def damage_xml(random: Random, content: bytes) -> bytes:
    """Return the document after one to three changes."""
    for _ in range(random.choice((1, 1, 2, 3))):
        content = random.choice(_CHANGES)(random, content)
    return content


def _value(random: Random, content: bytes) -> bytes:
    values = list(_VALUE.finditer(content))
    if not values:
        return content
    place = random.choice(values)
    new = random.choice((b'"' + random.choice(FIELDS) + b'"', random.choice(values)[0]))
    return content[: place.start()] + new + content[place.end() :]


def _tag(random: Random, content: bytes) -> bytes:
    tags = list(_TAG.finditer(content))
    if not tags:
        return content
    place = random.choice(tags)
    new = random.choice((b"", random.choice(tags)[0], place[0] * 2, random.choice(_PIECES)))
    return content[: place.start()] + new + content[place.end() :]


def _piece(random: Random, content: bytes) -> bytes:
    at = random.choice([match.start() for match in _TAG.finditer(content)] or [0])
    return content[:at] + random.choice(_PIECES) + content[at:]


def _encoding(random: Random, content: bytes) -> bytes:
    if random.random() < 0.3:
        return content.decode("latin-1").encode(random.choice(("utf-16", "utf-16-le", "utf-32")))
    return content.replace(b"UTF-8", random.choice(_ENCODINGS), 1)


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


_CHANGES = (_value, _value, _value, _tag, _tag, _piece, _piece, _encoding, _cut)
