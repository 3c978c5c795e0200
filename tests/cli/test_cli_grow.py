"""``honlearn grow`` as it is typed: a network, or one line that says what is wrong and nothing written."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import honlearn as hl
from honlearn.cli import main
from honlearn.errors import InputError

PATHS = "A C D\nB C E\n" * 5
EVENTS = 'trip,when,port,x\n1,2,"C, 1",\n1,1,A,\n2,1,B,\n1,3,"D ""q""",\n2,2,"C, 1",\n'
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder of its own; return exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    Path("paths.txt").write_text(PATHS)
    Path("commas.txt").write_text("A,B\nB,C\n")
    Path("bars.txt").write_text("A|B\nB|C\n")
    Path("events.csv").write_text(EVENTS)

    def command(*words: str) -> tuple[int, str, str]:
        try:
            main(list(words))
        except SystemExit as end:
            return int(end.code or 0), *capsys.readouterr()
        raise AssertionError("main returns only by exiting")

    return command


def test_a_network_from_text(run: Run) -> None:
    code, out, err = run("grow", "paths.txt", "-o", "net.txt", "--json")
    facts = json.loads(out)
    assert (code, err, facts["nodes"], facts["edges"], facts["weight"]) == (0, "", 7, 6, 30)
    assert Path("net.txt").read_text().splitlines()[0] == "A C|A 5"


def test_the_rule_is_said_and_kept(run: Run) -> None:
    rules = {
        "": (0.05, None, 1, 2),
        "--alpha 0.001": (0.001, None, 1, 0),
        "--alpha 1": (None, None, 1, 2),
        "--tau 0.5": (None, 0.5, 1, 2),
        "--min-support 6": (None, 1.0, 6, 0),
        "--order auto": (0.05, None, 1, 2),
    }
    for words, (alpha, tau, support, contexts) in rules.items():
        code, out, _ = run("grow", "paths.txt", "-o", "net.hon", "--json", *words.split())
        facts = json.loads(out)
        assert (code, facts["alpha"], facts["tau"], facts["min_support"]) == (0, alpha, tau, support)
        assert (facts["order"], facts["nodes"]) == (2, 5 + contexts)
        grown = hl.load_network("net.hon").parameters
        assert (grown.alpha, grown.tau, grown.min_support) == (alpha, tau, support)


def test_a_network_from_events(run: Run) -> None:
    columns = ["--sequence", "trip", "--order-by", "when", "--entity", "port"]
    code, out, err = run("grow", "events.csv", "-o", "net.hon", "--order", "1", *columns)
    assert (code, err) == (0, "")
    assert out.startswith("net.hon: 4 entities, 4 nodes (0 contexts), 3 edges")
    assert hl.load_network("net.hon").neighbors("C, 1") == {'D "q"': 1}


def test_several_files_and_patterns(run: Run) -> None:
    Path("more.txt.gz").write_bytes(gzip.compress(PATHS.encode()))
    assert run("grow", "paths.txt", "mor*.gz", "-o", "net.txt")[0] == 0
    assert hl.load_network("net.txt").neighbors("A") == {"C|A": 10}


COMPLAINTS = [
    ("missing.txt", "missing.txt: no such file"),
    ("path.txt", "path.txt: no such file; did you mean 'paths.txt'?"),
    ("*.nothing", "*.nothing: no file matches the pattern"),
    (". --order 2", ". is a folder; name a file in it or a pattern"),
    ("paths.txt --order 0", "'order' parameter of grow must be a whole number, at least 1, or auto. Got '0'"),
    ("paths.txt --order 1001", "'order' parameter of count_grams must be a whole number, from 1 to 1000"),
    ("paths.txt --tau nan", "'tau' parameter of grow must be a number at least 0. Got nan"),
    ("paths.txt --tau inf", "Got inf"),
    ("paths.txt --tau -1", "Got -1.0"),
    ("paths.txt --min-support 0", "'min_support' parameter of grow must be a whole number, at least 1"),
    (
        "paths.txt --order far",
        "'order' parameter of grow must be a whole number, at least 1, or auto. Got 'far'",
    ),
    (
        "paths.txt --alpha 0",
        "'alpha' parameter of grow must be a number greater than 0 and at most 1. Got 0.0",
    ),
    (
        "paths.txt --alpha 0.1 --tau 2",
        "is another rule than 'tau': give one of them. Got alpha=0.1 and tau=2",
    ),
    ("paths.txt --alpha 0.1 --min-support 2", "is another rule than 'min_support': give one of them"),
    ("paths.txt --order auto --tau 2", "'order' parameter of grow can be 'auto' only where evidence decides"),
    ("paths.txt --workers 0", "'n_workers' parameter"),
    ("paths.txt --min-length 9", "paths.txt: no path at all; 10 were shorter than min_length=9; lower it"),
    (
        "commas.txt",
        "commas.txt: no path has two entities, so the network would be empty; entities such as 'A,B'",
    ),
    ("commas.txt --delimiter -", "hold ',': pass delimiter=',' (--delimiter ',')"),
    ("bars.txt", "replace it, or pass delimiter='|' (--delimiter '|') if it separates entities"),
    ("paths.txt --delimiter ,", "paths.txt: no path has two entities, so the network would be empty; is the"),
    ("paths.txt --skip-columns 4", "paths.txt:1: fewer than the 4 leading columns"),
    ("events.csv", "which columns hold the paths? Perhaps --sequence trip --order-by when --entity port"),
    (
        "events.csv --sequence trip --entity prot",
        "no column 'prot' (entity); did you mean 'port'?; there are",
    ),
    (
        "events.csv --sequence trip --entity x",
        "events.csv:2: empty entity id (column 'x'); remove the row or",
    ),
    ("events.csv --sequence trip --entity port --order-by x", "events.csv:2: empty order (column 'x')"),
    ("events.csv --sequence trip --entity port --format parquet", "events.csv: cannot be read: "),
    ("paths.txt events.csv", "paths.txt is text but events.csv is csv; read files of one format at a time"),
]


@pytest.mark.parametrize(("words", "complaint"), COMPLAINTS, ids=[words for words, _ in COMPLAINTS])
def test_what_is_wrong_is_one_line_and_nothing_is_written(run: Run, words: str, complaint: str) -> None:
    before = sorted(os.listdir())
    code, out, err = run("grow", *words.split(), "-o", "net.hon")
    assert (code, out) == (2, "")
    assert err.startswith("honlearn: ")
    assert err.count("\n") == 1
    assert complaint in err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("net.xyz", "the extension '.xyz' names no network format; use one of .hon"),
        ("nowhere/net.hon", "the folder nowhere does not exist; make it first"),
        (".", "is a folder; name a file"),
    ],
)
def test_a_target_that_cannot_be_is_said_before_reading(run: Run, target: str, complaint: str) -> None:
    code, _, err = run("grow", "events.csv", "-o", target)  # reading it would fail: no columns are named
    assert (code, complaint in err) == (2, True)


def test_a_failed_run_leaves_the_old_network(run: Run) -> None:
    assert run("grow", "paths.txt", "-o", "net.hon")[0] == 0
    before = Path("net.hon").read_bytes()
    Path("paths.txt").write_text(PATHS + "A  B\n")
    assert run("grow", "paths.txt", "-o", "net.hon")[0] == 2
    assert Path("net.hon").read_bytes() == before


def test_debug_shows_the_traceback(run: Run) -> None:
    with pytest.raises(InputError, match="no such file"):
        run("grow", "missing.txt", "-o", "net.hon", "--debug")


def honlearn(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "honlearn", *words]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload]


def test_paths_from_a_pipe_and_no_bar_where_there_is_no_terminal(tmp_path: Path) -> None:
    target = str(tmp_path / "net.txt")
    done = honlearn("grow", "-", "-o", target, input=PATHS.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert hl.load_network(target).n_edges == 6
    failed = honlearn("grow", "-", "--format", "text", "-o", target, input=b"A B\nA  B\n")
    assert failed.returncode == 2
    assert failed.stderr.startswith(b"honlearn: /dev/stdin:2: empty entity id")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    import pty

    (tmp_path / "paths.txt").write_text(PATHS * 20_000)
    command = ["grow", str(tmp_path / "paths.txt"), "-o", str(tmp_path / "net.txt")]
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "honlearn", *command], stdout=subprocess.PIPE, stderr=follower, check=True
    )
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert "reading paths.txt" in shown
    assert done.stdout.count(b"\n") == 1


def test_auto_tells_why_it_stopped(run: Run) -> None:
    Path("more.txt").write_text("A C D\nB C E\n" * 40)
    Path("plain.txt").write_text("A B\nB A\n" * 40)
    code, out, _ = run("grow", "more.txt", "-o", "net.hon", "--order", "auto")
    assert code == 0
    assert "auto: order 2, that of the longest significant context\n" in out
    assert "  2 entities: 2 of 2 tested contexts are significant; 2 nodes\n" in out
    assert (
        "auto: no context is significant" in run("grow", "plain.txt", "-o", "net.hon", "--order", "auto")[1]
    )
    told = json.loads(run("grow", "more.txt", "-o", "net.hon", "--order", "auto", "--json")[1])["contexts"]
    assert told == [{"order": 2, "contexts": 4, "tested": 2, "significant": 2, "nodes": 2}]


def test_a_limit_of_memory_gives_the_same_file_and_a_bad_one_is_one_line(run: Run) -> None:
    assert run("grow", "paths.txt", "-o", "a.hon")[0] == 0
    assert run("grow", "paths.txt", "-o", "b.hon", "--memory", "2MB")[0] == 0
    assert Path("a.hon").read_bytes() == Path("b.hon").read_bytes()
    code, _, error = run("grow", "paths.txt", "-o", "c.hon", "--memory", "much")
    assert code == 2
    assert "must be a size of at least 1 MB, such as '500MB' or '2GiB'. Got 'much' instead." in error
    assert error.count("\n") == 1
    assert not Path("c.hon").exists()
