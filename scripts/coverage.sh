#!/usr/bin/env bash
# Lines and branches of the package that tests reach, as a table; options and what is left out: pyproject.toml.
#   scripts/coverage.sh [TESTS …]     all tests, or those of some folders
# The second run has the compiler off, so that compiled functions are measured as Python. It takes only the
# tests of modules with compiled functions that are small enough to be interpreted.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON_BIN:-python3}
tests=("$@")
compiled=(tests/hon tests/paths tests/sampling tests/engine tests/test_hash_table.py tests/test_mixing.py)
[ ${#tests[@]} -gt 0 ] || tests=(tests src/honlearn)
"$python" -m coverage erase
"$python" -m coverage run -m pytest -q "${tests[@]}" || echo "some tests failed; figures are of the others" >&2
if [ $# -eq 0 ]; then
  NUMBA_DISABLE_JIT=1 timeout "${COMPILED_SECONDS:-1800}" "$python" -m coverage run -m pytest -q \
    -W "ignore:overflow encountered:RuntimeWarning" "${compiled[@]}" ||
    echo "some tests cannot run without the compiler; figures are of the others" >&2
fi
"$python" -m coverage combine -q
"$python" -m coverage report --skip-covered --sort=cover "${COVERAGE_REPORT:---show-missing}"
