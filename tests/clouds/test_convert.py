"""``oniyanma convert``: exit status, messages, and what is left after an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oniyanma.clouds.convert import convert_main, parse_size
from tests.clouds.index_support import all_records, same_points, terrain, write_las
from tests.support import ROOT


@pytest.mark.parametrize("kind", ["copc.laz", "las", "laz", "ply", "csv"])
def test_the_ending_says_the_format(tmp_path, capsys, kind):
    source = write_las(tmp_path / "a.las", terrain(2000))
    target = tmp_path / f"b.{kind}"
    assert convert_main([str(source), str(target), "--workers", "0"]) == 0
    assert capsys.readouterr().out == f"{target}: 2000 points\n"
    assert target.stat().st_size > 0


def test_several_sources_are_merged_with_two_processes(tmp_path):
    files = [write_las(tmp_path / f"{i}.laz", terrain(3000, seed=i)) for i in range(3)]
    target = tmp_path / "all.copc.laz"
    assert convert_main([*map(str, files), str(target), "--memory", "512MiB"]) == 0
    import numpy as np

    assert same_points(all_records(target), np.concatenate([all_records(f) for f in files]))


def test_what_is_refused_says_why_with_status_3(tmp_path, capsys):
    source = write_las(tmp_path / "a.las", terrain(10))
    (tmp_path / "bad.laz").write_bytes(b"")
    for arguments in (
        [str(tmp_path / "bad.laz"), str(tmp_path / "b.las")],
        [str(tmp_path / "missing.las"), str(tmp_path / "b.las")],
        [str(source), str(source)],
        [str(source), str(tmp_path / "b.unknown")],
    ):
        assert convert_main(arguments) == 3
        told = capsys.readouterr()
        assert told.out == "" and told.err.startswith("oniyanma: ") and told.err.count("\n") == 1
    assert convert_main([str(source), str(tmp_path / "b.laz")]) == 0
    assert convert_main([str(source), str(tmp_path / "b.laz")]) == 3
    assert "--overwrite" in capsys.readouterr().err
    assert convert_main([str(source), str(tmp_path / "b.laz"), "--overwrite"]) == 0


@given(st.integers(1, 1000), st.sampled_from(["", "k", "M", "GiB", "Kb", "t"]))
def test_sizes_are_read_with_their_units(number, unit):
    factor = 1024 ** ["", "k", "m", "g", "t"].index(unit.lower()[:1])
    assert parse_size(f"{number}{unit}") == number * factor


@pytest.mark.parametrize("text", ["", "x", "GiB", "-1", "nan", "1e30", "5 apples"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError):
        parse_size(text)


START = "import sys; from oniyanma.clouds.convert import convert_main; sys.exit(convert_main({}))"


@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_an_interrupt_or_a_kill_leaves_no_file_and_no_process(tmp_path, how):
    source = write_las(tmp_path / "a.las", terrain(600_000))
    arguments = [str(source), str(tmp_path / "b.copc.laz"), "--memory", "512MiB"]
    running = subprocess.Popen(
        [sys.executable, "-c", START.format(arguments)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    family: list[psutil.Process] = []
    while len(family) < 2 and running.poll() is None:
        family = psutil.Process(running.pid).children(recursive=True)
    running.send_signal(getattr(signal, how))
    _, told = running.communicate(timeout=60)
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive and os.listdir(tmp_path) == ["a.las"]
    if how == "SIGINT":
        assert running.returncode == 130 and told == b"oniyanma: cancelled; nothing was written\n"


OPENING = """
import os, signal, sys
from oniyanma.clouds import convert
from oniyanma.clouds.sources.text import TextReader

def blocks(self):
    os.kill(os.getpid(), signal.{})
    while True:  # a text that never ends
        yield {{name: self._numbers for name in "xyz"}}

import numpy
TextReader._numbers = numpy.zeros(10)
TextReader.blocks = blocks
sys.exit(convert.convert_main({}))
"""


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_an_interrupt_while_a_large_text_is_looked_through_ends_at_once(tmp_path, how):
    """Opening reads a text to its end; nobody waits for that who wants to stop."""
    text = tmp_path / "a.xyz"
    text.write_text("1 2 3\n4 5 6\n")
    arguments = [str(text), str(tmp_path / "b.las")]
    done = subprocess.run(
        [sys.executable, "-c", OPENING.format(how, arguments)],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, b"oniyanma: cancelled; nothing was written\n")
    assert os.listdir(tmp_path) == ["a.xyz"]
