"""Wheel and sdist: built without the network, installed apart, and working from there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

pytest.importorskip("build", reason="needs honlearn[dev]")
pytest.importorskip("hatchling", reason="needs honlearn[dev]")

ROOT = Path(__file__).parents[1]


def run(*words: object, cwd: Path) -> str:
    # Neither the checkout nor a path of the caller may stand in for what was installed.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_of_the_sdist_works_in_an_environment_of_its_own(tmp_path: Path) -> None:
    # The wheel is built from the unpacked sdist, so that this holds all that is needed.
    built = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "-o", str(tmp_path / "dist"), str(ROOT)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    [sdist], [wheel] = (list((tmp_path / "dist").glob(kind)) for kind in ("*.tar.gz", "*.whl"))
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "CHANGELOG.md", "CITATION.cff", "docs/conf.py", "tests/test_packaging.py"} <= names
    assert not any(name.startswith(("docs/_build", "src/honlearn/__pycache__")) for name in names)

    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    target = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    )
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # What honlearn depends on comes from this environment, behind what is installed.
    (target / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")

    where = run(python, "-c", "import honlearn; print(honlearn.__file__, honlearn.__version__)", cwd=tmp_path)
    file, version = where.split()
    assert Path(file).is_relative_to(target)
    assert version in wheel.name
    assert (Path(file).parent / "py.typed").is_file()
    command = tmp_path / "env" / "bin" / "honlearn"
    assert run(command, "--version", cwd=tmp_path).split() == ["honlearn", version]
    assert "286,810 paths" in run(command, "data", "get", "us_flights", "-o", "data", cwd=tmp_path)
    assert "175 entities" in run(command, "grow", "data/paths.txt", "-o", "net.hon", cwd=tmp_path)


def test_versions_agree_and_extras_are_there() -> None:
    import re

    import honlearn

    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'\nversion = "{honlearn.__version__}"\n' in text
    assert f"\nversion: {honlearn.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"## [{honlearn.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    extras = text[text.index("[project.optional-dependencies]") : text.index("[project.scripts]")]
    assert {"ray", "dask", "infomap", "docs", "dev"} <= set(re.findall(r"^(\w+) = \[", extras, re.MULTILINE))
