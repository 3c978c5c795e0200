#!/usr/bin/env bash
# The fast tests with the oldest versions that pyproject.toml admits, in an environment of their own.
#   scripts/oldest.sh [pytest options]
# torch is the CPU build of scripts/setup.sh: older CPU builds are not everywhere to be had.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${OLDEST_VENV:-.venv-oldest}
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
torch=$(sed -n 's/^torch_version=//p' scripts/setup.sh)
"$venv/bin/python" - > "$venv/oldest.txt" <<'PYTHON'
import re

text = open("pyproject.toml").read()
(needed,) = re.findall(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
(extras,) = re.findall(r"^\[project.optional-dependencies\]\n(.*?)^docs = ", text, re.MULTILINE | re.DOTALL)
for name, bound in re.findall(r'"([\w-]+)>=([\d.]+)', needed + extras):
    if name != "torch":
        print(f"{name}=={bound}")
PYTHON
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
pip install "torch==$torch+cpu" 2>/dev/null ||
  pip install "torch==$torch" --index-url https://download.pytorch.org/whl/cpu
pip install -r "$venv/oldest.txt" pytest pytest-xdist hypothesis
# Machine code that other versions of numba have kept is not for these.
PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}" NUMBA_CACHE_DIR="$venv/numba" \
  "$venv/bin/python" -m pytest -q -m "not slow" "$@"
