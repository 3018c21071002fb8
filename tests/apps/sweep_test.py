#!/usr/bin/env python3
"""What `weft sweep` promises to whoever calls it: exits, messages, exports, the same rows whatever runs it.

    sweep_test.py ROOT WEFT [MPIRUN]
"""
import csv
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import open_mpi

ROOT, WEFT = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
MPIRUN = sys.argv[3] if len(sys.argv) > 3 else None

BASE = """\
kind: sweep
scenario:
  cluster: {nodes: 4, node: {type: host}, fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s, latency: 1 us}}}
  workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}
"""
SMALL = BASE + "grid:\n  simulation.seed: [1, 2, 3]\n  workload.flows[0].to: [h1, h9]\n"


def weft(folder, *arguments, status=0, environment=None, launcher=()):
    done = subprocess.run([*launcher, WEFT, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300,
                          check=False, env=environment)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}, not {status}\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def points(file):
    with sqlite3.connect(file) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'points'").fetchone():
            return []  # caught before its tables were made
        return database.execute("SELECT * FROM points ORDER BY id").fetchall()


def test_a_sweep_of_which_every_point_is_refused_fails(folder):
    (folder / "none.yaml").write_text(SMALL.replace("[h1, h9]", "[h8, h9]"))
    out, err = weft(folder, "sweep", "none.yaml", status=2)
    assert "6 refused" in out and "h8" in out and "none.yaml: every point was refused" in err, out + err


def test_an_axis_may_be_a_parameter_of_the_profile(folder):
    """Its name has dots, which paths of keys have as well; a plain value is an assumed one."""
    sweep = BASE.replace("cluster: {", "cluster: {profile: {kind: profile, name: mine, parameters: {}}, ")
    axis = "grid:\n  cluster.profile.parameters.network.ethernet.efficiency: ['0.5', '25 %']\n"
    (folder / "parameter.yaml").write_text(sweep + axis)
    weft(folder, "sweep", "parameter.yaml", "--export", "csv")
    slow, slower = (float(row["makespan_ns"]) for row in csv.DictReader((folder / "parameter.csv").open()))
    # 1 MB at half and at a quarter of 100 Gb/s: 160 and 320 us, and the same latencies.
    assert 150_000 <= slower - slow <= 170_000, (slow, slower)


def test_exports(folder):
    (folder / "small.yaml").write_text(SMALL)
    out, err = weft(folder, "sweep", "small.yaml", "-j", "2", "--export", "csv")
    assert "6 points" in out and "3 refused" in out and err == "", out + err
    rows = list(csv.DictReader((folder / "small.csv").open()))
    assert [row["status"] for row in rows] == ["done", "refused"] * 3
    # 1 MB and 1 % of headers at 100 Gb/s, and two cables of 1 us.
    assert 82_000 <= float(rows[0]["makespan_ns"]) < 90_000, rows[0]
    assert "h9" in rows[1]["error"] and rows[1]["makespan_ns"] == ""
    before = (folder / "small.sqlite").stat().st_mtime_ns
    out, _ = weft(folder, "sweep", "small.yaml", "--export", "json", "--to", "-")
    result = json.loads(out)
    assert result["points_total"] == 6 and len(result["points"]) == 6 and not result["interrupted"]
    assert result["points"][0]["digest"] == rows[0]["digest"]
    assert (folder / "small.sqlite").stat().st_mtime_ns == before, "an export writes nothing into the database"
    out, _ = weft(folder, "sweep", "small.yaml", "--resume")
    assert "0 points run" in out, out


def test_refusals(folder):
    """Nothing runs, and no database is made, where the sweep itself is wrong."""
    cases = {
        "unknown key 'latncy'": "grid:\n  cluster.fabric.link.latncy: [1 us]\n",
        "got an empty map": "grid: {}\n",
        "more than 1000000": "".join(["grid:\n"] + [f"  a.{i}: {{from: 1, to: 1000, step: 1}}\n" for i in range(3)]),
        "no point of 2 meets every constraint": "grid:\n  simulation.seed: [1, 2]\nwhere: seed > 5\n",
    }
    for message, sections in cases.items():
        (folder / "bad.yaml").write_text(BASE + sections)
        _, err = weft(folder, "sweep", "bad.yaml", status=2)
        assert message in err and not (folder / "bad.sqlite").exists(), err
        _, err = weft(folder, "check", "bad.yaml", status=2)
        assert message in err, err
    (folder / "fine.yaml").write_text(SMALL)
    _, err = weft(folder, "sweep", "fine.yaml", "--db", "no/folder/x.sqlite", status=2)
    assert "cannot write the results" in err, err
    weft(folder, "sweep", "fine.yaml")
    _, err = weft(folder, "sweep", "fine.yaml", status=2)
    assert "exists already" in err and "--resume" in err, err
    (folder / "fine.yaml").write_text(SMALL.replace("h9", "h2"))
    _, err = weft(folder, "sweep", "fine.yaml", "--resume", status=2)
    assert "holds another sweep" in err, err
    (folder / "fine.yaml").write_text(SMALL)
    with sqlite3.connect(folder / "fine.sqlite") as database:
        database.execute("UPDATE meta SET value = '0.0.1' WHERE key = 'weft_version'")
    _, err = weft(folder, "sweep", "fine.yaml", "--resume", status=2)
    assert "was written by weft 0.0.1" in err, err


def test_interrupt(folder):
    (folder / "long.yaml").write_text(BASE + "grid:\n  simulation.seed: {from: 1, to: 100000, step: 1}\n")
    process = subprocess.Popen([WEFT, "sweep", "long.yaml", "-j", "2"], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        time.sleep(0.1)
        if (folder / "long.sqlite-wal").exists() and points(folder / "long.sqlite"):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "are kept; the rest: weft sweep long.yaml -j 2 --resume\n" in out and err == "", out + err
    assert 0 < len(points(folder / "long.sqlite")) < 100_000


def test_mpi(folder):
    environment = open_mpi.environment()
    (folder / "mpi.yaml").write_text(BASE + "grid:\n  simulation.seed: {from: 1, to: 60, step: 1}\n")
    weft(folder, "sweep", "mpi.yaml", "--db", "serial.sqlite")
    launcher = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-np", "2"]
    weft(folder, "sweep", "mpi.yaml", "--db", "mpi.sqlite", environment=environment, launcher=launcher)
    assert points(folder / "serial.sqlite") == points(folder / "mpi.sqlite")

    def fails(*arguments):
        done = subprocess.run([*launcher, WEFT, "sweep", *arguments], cwd=folder, capture_output=True, text=True, timeout=300,
                              check=False, env=environment)
        assert done.returncode == 2, done.stdout + done.stderr
        return done.stderr

    # A mistake is told once, and every process ends.
    (folder / "empty.yaml").write_text(BASE + "grid: {}\n")
    err = fails("empty.yaml")
    assert err.count("got an empty map") == 1, err
    # One that a process other than the first meets, as where it reads other files, is told too.
    (folder / "long.yaml").write_text(BASE + "grid:\n  simulation.seed: {from: 1, to: 100000, step: 1}\n")
    err = fails("long.yaml", ":", "-np", "1", WEFT, "sweep", "empty.yaml")
    assert err.count("process 2 cannot run points of this sweep") == 1 and err.count("got an empty map") == 1, err


def test_without_mpi(folder):
    """Started as one of several without the module: one clear message instead of as many sweeps."""
    (folder / "small.yaml").write_text(SMALL)
    alone = folder / "bin"
    alone.mkdir()
    copy = alone / "weft"
    copy.write_bytes(pathlib.Path(WEFT).read_bytes())
    copy.chmod(0o755)
    for rank, message in (("0", "built without MPI"), ("1", "")):
        environment = dict(os.environ, OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK=rank)
        done = subprocess.run([copy, "sweep", "small.yaml"], cwd=folder, capture_output=True, text=True, timeout=300, check=False,
                              env=environment)
        assert done.returncode == 2 and message in done.stderr and (message or not done.stderr), done.stderr
    assert not (folder / "small.sqlite").exists()


def test_shipped(folder):
    """The shipped sweeps run, and none of their points is refused."""
    files = sorted((ROOT / "configs/sweeps").glob("*.yaml"))
    assert files
    for file in files:
        out, _ = weft(ROOT, "sweep", file, "-j", "2", "--out", folder)
        assert "refused" not in out and "points run" in out, out


def main():
    tests = [test_exports, test_a_sweep_of_which_every_point_is_refused_fails, test_an_axis_may_be_a_parameter_of_the_profile,
             test_refusals, test_interrupt, test_without_mpi, test_shipped] + ([test_mpi] if MPIRUN else [])
    for test in tests:
        with tempfile.TemporaryDirectory() as name:
            test(pathlib.Path(name))
            print(f"ok  {test.__name__}", flush=True)


if __name__ == "__main__":
    main()
