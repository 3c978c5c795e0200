"""Networks as files: one module per format, chosen by the file's extension.

In: a network and a path, or a path. Out: a whole file or none (a writer that fails leaves what was there),
or a network.
"""

from __future__ import annotations

from honlearn.hon.formats.registry import FORMATS, Format, check_target, load_network, save

__all__ = ["FORMATS", "Format", "check_target", "load_network", "save"]
