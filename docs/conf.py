"""The documentation site: Sphinx with the pydata theme, MyST pages that are executed, API from docstrings.

`make docs` builds it to docs/_build/html, offline, with warnings as errors.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import honlearn

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import page_kernels

project = "honlearn"
author = "The honlearn developers"
copyright = "the honlearn developers, MIT licence"
version = release = honlearn.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
nitpicky = True
# Docstrings also name modules and functions that are no part of the API; they are read in the source.
nitpick_ignore_regex = [
    ("py:.*", r"honlearn\.(hon|tasks|sampling|path_kernel)\..*"),
    ("py:(mod|class)", r"honlearn\.learners(\..*)?"),
    ("py:(attr|data)", r"vocabulary|PENALTIES|KINDS"),
]

html_theme = "pydata_sphinx_theme"
html_title = "honlearn"
html_static_path = ["_static"]
html_css_files = ["honlearn.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# An error in a page is an error of the build; one thread, so that a build takes one core.
nb_execution_mode = "auto"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A figure that ends a cell is shown, without pyplot: kernels of the pages read this at their start.
_FIGURES = """
from io import BytesIO
def _png(figure):
    out = BytesIO()
    figure.savefig(out, format="png", dpi=110)
    return out.getvalue()
png = get_ipython().display_formatter.formatters["image/png"]
png.for_type_by_name("matplotlib.figure", "Figure", _png)
"""
_startup = Path(tempfile.mkdtemp(prefix="honlearn-docs-")) / "profile_default" / "startup"
_startup.mkdir(parents=True)
(_startup / "figures.py").write_text(_FIGURES, "utf-8")
os.environ["IPYTHONDIR"] = str(_startup.parents[1])

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

# What other modules of the package call, not users.
_INTERNAL = re.compile(
    r"check|options|parameter_objects?|any_learner|default_learner|learner_defaults|has_sets|mask|neighborhood|stack|limit|sums_over_rows"
)


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn brings, and what is of no use outside of the package."""
    function = inspect.unwrap(obj.fget if isinstance(obj, property) and obj.fget else obj)
    module = getattr(function, "__module__", None)
    if _INTERNAL.fullmatch(name) or (module and not module.startswith("honlearn")):
        return True
    return None


def _fork_kernels(app: Any) -> None:
    """Have the kernels of pages forked while the site is built, if pages are executed."""
    if app.config.nb_execution_mode != "off":
        kernels = page_kernels.begin(_startup.parents[1])
        app.connect("build-finished", lambda *_: kernels.communicate())


def setup(app: Any) -> None:
    """Connect the choice of members, and what runs pages."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("builder-inited", _fork_kernels)
