"""The environment in which tests start programs under Open MPI, and the processes of such a job."""

import os
import pathlib
import signal
import subprocess
import time

LAUNCHER_SECONDS = 20  # that an mpirun may be without a process of its job, before them and after


def environment():
    """Open MPI asks whoever is root twice, and a test may run in a container. It ends without freeing all of its own memory."""
    sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", ASAN_OPTIONS=sanitizer)


def processes(launcher):
    """By rank, those of its children that an mpirun has started and that have not ended."""
    ranks = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            if int(parent) != launcher or state in "ZX":
                continue
            for variable in (entry / "environ").read_bytes().split(b"\0"):
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    ranks[int(variable.split(b"=")[1])] = int(entry.name)
        except (OSError, ValueError):
            continue
    return ranks


def wait(launcher, seconds):
    """The exit status of an mpirun, as `Popen` gives it, whose processes must all end in that time.

    An mpirun of Open MPI 4.1 that loses a process while the job starts can lock itself up at its end (the thread that waits for
    ever is in PMIx_server_finalize) with no process of the job left. That one is ended here: its status is -SIGKILL.
    """
    begin = last_seen = time.monotonic()
    while launcher.poll() is None:
        now = time.monotonic()
        if processes(launcher.pid):
            last_seen = now
        if now - begin > seconds:
            raise subprocess.TimeoutExpired(launcher.args, seconds)
        if now - last_seen > LAUNCHER_SECONDS:
            print(f"mpirun hangs without a process of its job: ended after {LAUNCHER_SECONDS} s", flush=True)
            os.killpg(launcher.pid, signal.SIGKILL)
            return launcher.wait(LAUNCHER_SECONDS)
        time.sleep(0.05)
    return launcher.returncode
