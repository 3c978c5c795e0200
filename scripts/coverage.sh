#!/usr/bin/env bash
# Lines and branches of the package that tests reach, as a table; options and what is left out: pyproject.toml.
#   scripts/coverage.sh [TESTS …]     all that add to the figures, or those of some folders
# The second run has the compiler off, so that compiled functions are measured as Python. It takes only tests
# of modules with compiled functions, and skips a test whose loops would be interpreted for too long.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON_BIN:-python3}
tests=("$@")
compiled=(
  tests/engine tests/sampling tests/test_hash_table.py tests/test_mixing.py tests/hon/steps
  tests/hon/test_{counts_update,dependencies,edgelist,evidence,flow,grow,network_updates,partitioned,prune,walks,wide_keys,without_pairs}.py
  tests/paths/test_{events,exact_orders,filters,limits,lists,rows,sequences,temporal,text}.py
  tests/baselines/test_{path2vec,seal,sort_pool,subgraphs,walk_operators,walk_subgraphs}.py
)
# These run the package from outside, and reach nothing that others do not.
outside=(tests/{benchmarks,docs,fuzz,mutation} tests/test_packaging.py tests/test_readme.py)
[ ${#tests[@]} -gt 0 ] || tests=(tests src/honlearn "${outside[@]/#/--ignore=}")
measured() { "$python" -m coverage run -m pytest -q -n "${JOBS:-auto}" --dist loadgroup "$@"; }
"$python" -m coverage erase
measured "${tests[@]}" || echo "some tests failed; figures are of the others" >&2
if [ $# -eq 0 ]; then
  NUMBA_DISABLE_JIT=1 measured --skip-after 4 -W "ignore:overflow encountered:RuntimeWarning" "${compiled[@]}" ||
    echo "some tests cannot run without the compiler; figures are of the others" >&2
fi
"$python" -m coverage combine -q
"$python" -m coverage report --skip-covered --sort=cover "${COVERAGE_REPORT:---show-missing}"
