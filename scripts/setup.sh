#!/usr/bin/env bash
# Make .venv with a CPU build of torch and this package in it. Run again, it does only what is missing.
#   scripts/setup.sh          what the demo needs
#   scripts/setup.sh docs     also what the documentation site needs
#   scripts/setup.sh dev      also the tools of the tests, checks, benchmarks and of the site
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${1:-}
venv=${VENV:-.venv}
torch_version=2.13.0
cpu_index=https://download.pytorch.org/whl/cpu

mark="$venv/.ready-${extra:-run}-$(cksum < pyproject.toml | cut -d' ' -f1)"
[ -e "$mark" ] && exit 0

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  echo "honlearn needs Python 3.10 or newer; $("$python" --version) is $python (set PYTHON=…)" >&2
  exit 2
}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

# The plain wheel brings gigabytes of CUDA. A CPU build: the one installed, else an index that has it by its
# local version, else (not Linux on x86) the plain wheel, which is a CPU build there, else PyTorch's own index.
if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
  echo "installing torch $torch_version (CPU)…"
  case "$(uname -s)-$(uname -m)" in
    Darwin-*) pip install "torch==$torch_version" ;;
    *) pip install "torch==$torch_version+cpu" 2>/dev/null ||
       pip install "torch==$torch_version" --index-url "$cpu_index" ;;
  esac
fi
echo "installing honlearn…"
pip install -e ".${extra:+[$extra]}"
echo "compiling…"
"$venv/bin/python" -m compileall -q src/honlearn
"$venv/bin/python" scripts/warm_up.py > /dev/null
rm -f "$venv"/.ready-"${extra:-run}"-*
touch "$mark"
