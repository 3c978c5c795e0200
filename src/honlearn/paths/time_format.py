"""Times in a format of their own: the text of an order column → timestamps, by a pattern of strptime.

In: a column of text and a pattern such as ``"%d.%m.%Y %H:%M"``. Out: timestamps in microseconds; in UTC where
the pattern names a zone (``%z``, ``%Z``), so that rows of several zones compare.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from honlearn.paths.orders import BadOrder


def parse_times(column: pa.Array, pattern: str) -> pa.Array:
    """Return a column of text as timestamps; empty text is missing. Text of another form is a BadOrder.

    >>> parse_times(pa.array(["31.05.2024", ""]), "%d.%m.%Y").to_pylist()
    [datetime.datetime(2024, 5, 31, 0, 0), None]
    """
    import pandas as pd

    texts = [None if value is None else _text(value) for value in column.to_pylist()]
    zoned = "%z" in pattern or "%Z" in pattern
    parsed = pd.to_datetime(pd.Series(texts, dtype=object), format=pattern, errors="coerce", utc=zoned)
    given = np.array([text is not None and bool(text.strip()) for text in texts], bool)
    wrong = parsed.isna().to_numpy() & given
    if wrong.any():
        first = int(wrong.argmax())
        raise BadOrder(first, str(texts[first]).encode(), f" is not of the form {pattern!r}")
    if not zoned:
        return pa.array(parsed.astype("datetime64[us]"), pa.timestamp("us"))
    plain = pa.array(parsed.dt.tz_convert(None).astype("datetime64[us]"), pa.timestamp("us"))
    return pc.assume_timezone(plain, "UTC")


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
