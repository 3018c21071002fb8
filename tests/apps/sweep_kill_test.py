#!/usr/bin/env python3
"""A sweep that is killed at random moments and resumed gives the database of one that never was.

    sweep_kill_test.py WEFT [--signal KILL] [--kills 30] [--points 300] [--seed 1] [--mpi MPIRUN]

Whenever a sweep comes to its end before all kills are spent, its database is compared and the next one begins. With --mpi the
sweep runs under `mpirun -np 2`; one of its two processes is killed, the other must end, and a second job completes it.
"""
import argparse
import functools
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import open_mpi

SECONDS = 300  # for any one call

SWEEP = """\
kind: sweep
scenario:
  cluster:
    nodes: 8
    node: {{type: host}}
    fabric: {{type: single_switch, link: {{type: ethernet, rate: 100 Gb/s, latency: 1 us}}}}
  workload: {{flows: [{{from: h0, to: h1, bytes: 1 MB}}, {{from: h2, to: h1, bytes: 2 MB}}]}}
grid:
  workload.flows[0].bytes: {{from: 1 kB, to: {last} kB, step: 1 kB}}
  workload.flows[1].to: [h1, h3, h9]
"""


def content(file):
    """Every row of every table, in order."""
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA query_only = 1")
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",), file
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {table: database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables}


def run(arguments, folder, environment=None):
    """(exit status, output, seconds)"""
    begin = time.monotonic()
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - begin


def killed(arguments, folder, signal_sent, delay, is_whole, victim=None, environment=None):
    """Starts a program and kills it, or the process that `victim` picks of those of its job, after `delay` seconds. True: in time.

    It may end between the last look at it and the signal; then it must have written all, as `is_whole` tells.
    """
    process = subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True)
    wait = process.wait if victim is None else functools.partial(open_mpi.wait, process)
    try:
        time.sleep(delay)
        pid = process.pid if victim is None else victim(process.pid)
        is_killed = pid is not None and process.poll() is None
        if is_killed:
            os.kill(pid, signal_sent)
        status = wait(SECONDS)
        assert not is_killed or status != 0 or is_whole(), "a job that lost a process says it went well"
        return is_killed and status != 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def one_of_two(launcher):
    """The process of rank 1, or of rank 0, whichever the dice say; none before both are there."""
    ranks = open_mpi.processes(launcher)
    return ranks[random.choice([0, 1])] if len(ranks) == 2 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--signal", default="KILL", choices=["KILL", "TERM", "HUP", "INT"])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", help="the mpirun to start it with")
    options = parser.parse_args()
    random.seed(options.seed)
    weft = str(pathlib.Path(options.weft).resolve())
    environment = open_mpi.environment() if options.mpi else dict(os.environ)
    launcher = []
    if options.mpi:
        launcher = [options.mpi, "--oversubscribe", "--bind-to", "none", "-np", "2"]

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sweep.yaml").write_text(SWEEP.format(last=options.points // 3), encoding="utf-8")
        status, text, seconds = run([weft, "sweep", "sweep.yaml", "--db", "whole.sqlite"], folder)
        assert status == 0, text
        whole = content(folder / "whole.sqlite")
        assert len(whole["points"]) == options.points, len(whole["points"])
        assert sum(row[1] == "refused" for row in whole["points"]) == options.points // 3

        kills = sweeps = 0
        database = folder / "killed.sqlite"
        command = [*launcher, weft, "sweep", "sweep.yaml", "--db", database.name, "--resume", "-j", "2", "--quiet"]

        def rows():
            return len(content(database)["points"]) if database.exists() and content(database) else 0

        def is_whole():
            return rows() == options.points

        attempts = 0
        while kills < options.kills:
            attempts += 1
            assert attempts < 20 * options.kills, f"only {kills} of {options.kills} kills came in time"
            # Some before the first row, some while rows are written, some after the last: the start takes a good part.
            delay = random.uniform(0, seconds if launcher else 0.4 * seconds)
            if launcher:
                delay += 0.5 * random.random()
            kills += killed(command, folder, signal.Signals[f"SIG{options.signal}"], delay, is_whole, one_of_two if launcher else None, environment)
            if is_whole() or (launcher and kills % 2 == 0):
                status, text, _ = run(command, folder, environment)
                assert status == 0, text
                assert content(database) == whole, "the resumed database differs"
                sweeps += 1
                for file in folder.glob("killed.sqlite*"):
                    file.unlink()
        status, text, _ = run(command, folder, environment)
        assert status == 0, text
        assert content(database) == whole, "the resumed database differs"
        print(f"{kills} kills by {options.signal}, {sweeps + 1} sweeps of {options.points} points, all as the one that was left alone")


if __name__ == "__main__":
    sys.exit(main())
