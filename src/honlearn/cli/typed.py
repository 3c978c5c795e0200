"""The words that were typed: kept for the files of a run, and read before any command is chosen.

In: the words of the command line. Out: the same, with ``--set a=1 b=2`` spread, and one line to type again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_SETTING = re.compile(r"([\w*-]+:)?[A-Za-z_]+(\.[a-z_]+)?=")
_TYPED: list[str] = []


def remember_command(words: Sequence[str]) -> None:
    """Keep the words that the program was started with."""
    _TYPED[:] = words


def command_line() -> str:
    """Return the command that is running, as one would type it, for the files of a run."""
    return shlex.join(["honlearn", *_TYPED])


def spread_settings(arguments: list[str]) -> list[str]:
    """Return the arguments with ``--set`` before each word of a row ``--set a=1 b=2``.

    >>> spread_settings(["train", "--set", "n_learners=4", "widths=8,8", "net.hon"])
    ['train', '--set', 'n_learners=4', '--set', 'widths=8,8', 'net.hon']
    """
    spread: list[str] = []
    for word in arguments:
        if len(spread) > 1 and spread[-2] == "--set" and _SETTING.match(word):
            spread.append("--set")
        spread.append(word)
    return spread


def parse_order(owner: str, text: str, least: int) -> int | str:
    """Return the order that was typed: a whole number, or auto."""
    from honlearn.errors import ParameterError

    if text == "auto":
        return text
    number = int(text) if text.isascii() and text.lstrip("-").isdigit() else None
    if number is None or number < least:
        raise ParameterError(
            f"The 'order' parameter of {owner} must be a whole number, at least {least}, or auto. "
            f"Got {text!r} instead."
        )
    return number
