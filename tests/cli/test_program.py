# SPDX-License-Identifier: Apache-2.0
"""The real program in its own process: exit codes, streams, Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TACIT = [sys.executable, "-c", "from tacit.cli import main; main()"]
PLAN = ["plan", "--users", "1000", "--items", "50", "--scale", "1", "5", "-e", "1"]


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "ratings.parquet"
    pairs = np.arange(400 * 50)
    table = {"user": pairs // 50, "item": pairs % 50, "rating": 1 + pairs * 7 % 5}
    pq.write_table(pa.table(table), path)
    return path


def run(*words):
    done = subprocess.run([*TACIT, *map(str, words)], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (PLAN, 0, ""),
        ([], 2, ""),
        (["--help"], 0, ""),
        (["nosuch"], 2, "No such command 'nosuch'"),
        (["plan"], 2, "Missing option '--epsilon'"),
        ([*PLAN[:-1], "much"], 2, "Invalid value for '--epsilon'"),
        (["plan", "-e", "0"], 2, "epsilon must be above 0"),
        (["inspect", "nowhere"], 2, "no tacit model here"),
    ],
)
def test_exit_codes_and_one_line_on_stderr(words, code, told):
    done = run(*words)
    assert done.returncode == code
    assert told in done.stderr
    assert done.stderr.count("\n") == bool(told)


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['tacit', '--help']\n"
        "from tacit.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'numpy', 'scipy', 'duckdb', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_completion_knows_verbs_and_options():
    """As a shell asks, after `tacit --install-completion`."""

    def completed(words):
        asked = {"_TACIT_COMPLETE": "complete_bash", "COMP_WORDS": f"tacit {words}"}
        asked["COMP_CWORD"] = str(len(words.split()))
        program = [sys.executable, "-c", "import sys; sys.argv = ['tacit']\n" + TACIT[-1]]
        done = subprocess.run(
            program, env=os.environ | asked, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert completed("ev") == ["evaluate"]
    assert completed("fit --eps") == ["--epsilon"]


def test_a_pipe_sees_no_progress_and_json_alone(ratings, tmp_path):
    done = run("fit", ratings, "-e", 1, "-o", tmp_path / "m", "--json")
    assert done.stderr == ""
    assert json.loads(done.stdout)["private"] is True


def test_a_terminal_sees_steps_rate_and_time_left(ratings, tmp_path):
    ours, theirs = pty.openpty()
    words = ["fit", str(ratings), "-e", "1", "-o", str(tmp_path / "m"), "--set", "steps=300"]
    words += ["-a", "item-offsets"]
    settings = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [*TACIT, *words], stdout=subprocess.PIPE, stderr=theirs, env=settings
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert b"Training" in shown
    assert b"/301" in shown
    assert b"steps/s" in shown


def interrupted(words, journal, lines):
    """The program after Ctrl-C, sent when the journal has so many lines."""
    process = subprocess.Popen(
        [*TACIT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 300
    while not (journal.exists() and journal.read_text().count("\n") >= lines):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    return *process.communicate(timeout=300), process.returncode


def test_ctrl_c_says_what_was_spent_and_leaves_nothing(ratings, tmp_path):
    journal = tmp_path / "journal"
    words = ["fit", ratings, "-e", 1, "-o", tmp_path / "m", "--journal", journal, "--threads", 1]
    words += ["-a", "item-offsets", "--set", "steps=100000"]
    out, told, code = interrupted(words, journal, 3)
    assert code == 130
    assert out == ""
    spent = journal.read_text().count("\n")
    assert f"interrupted; {spent} of 100001 planned releases are spent: epsilon 0." in told
    assert told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]


def test_ctrl_c_leaves_the_old_model(ratings, tmp_path):
    assert run("fit", ratings, "-e", 1, "-o", tmp_path / "m").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    journal = tmp_path / "journal"
    journal.write_text('{"run": "earlier", "release": "offsets.sum"}\n')
    words = ["fit", ratings, "-e", "inf", "-o", tmp_path / "m", "--journal", journal]
    words += ["-a", "item-offsets", "--set", "steps=100000"]
    _, told, code = interrupted(words, journal, 4)
    assert code == 130
    spent = journal.read_text().count("\n") - 1
    assert f"{spent} of 100001 releases were made, without noise" in told
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}


def test_ctrl_c_is_not_lost_where_a_library_takes_it():
    code = (
        "import signal, sys\n"
        "from tacit.cli import sources\n"
        "def read(source, **_):\n"
        "    try: signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt: pass\n"
        "    if source == 'fails': raise ValueError('query interrupted')\n"
        "sources.read = read\n"
        "from tacit.cli import main\n"
        "main()"
    )
    for source in ("goes on", "fails"):
        words = ["fit", source, "-e", "1", "-o", "never"]
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr == "tacit: interrupted; nothing was spent\n"
        assert not Path("never").exists()
