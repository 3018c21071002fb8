"""Grants to programs under sanitizers what a test would not grant to others."""

import os

# `--memory 1 MiB` is refused by what a run would take, or, under sanitizers, by what the program holds before it can tell.
NO_MEMORY = r"error: (the run would take about \S+ MiB of memory|out of memory: this command holds \S+ MiB), and --memory allows 1 MiB\n"


def seconds(usual):
    """How long a test waits for a program: WEFT_TEST_PATIENCE times as long where programs are slow."""
    return usual * float(os.environ.get("WEFT_TEST_PATIENCE", "1"))
