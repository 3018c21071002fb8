#!/usr/bin/env python3
"""A plan search ends when its budget is spent, or on SIGTERM, with the best so far, and shows on a terminal how far it is.

    plan_end_test.py ROOT WEFT
"""
import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import patience

# A search that takes minutes: 128 GPUs and a mixture of experts.
SEARCH = ["plan", "--model", "qwen3_235b_a22b", "--cluster", "dgx_b200", "--set", "nodes=16"]


# The largest one of the issue: half a million plans of 288 GPUs.
RACKS = ["plan", "--model", "deepseek_v3", "--cluster", "gb200_nvl72", "--set", "nodes=4", "--batch", "2304"]


class Terminal:
    """A search whose standard error is a terminal; what it draws is collected."""

    def __init__(self, weft, root, *options, search=SEARCH):
        controller, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [weft, *search, *options], cwd=root, stdout=subprocess.PIPE, stderr=terminal, text=True)
        os.close(terminal)
        self.drawn = ""
        self.reader = threading.Thread(target=self.read, args=(controller,))
        self.reader.start()

    def read(self, controller):
        with contextlib.suppress(OSError):  # the other end is closed
            while data := os.read(controller, 4096):
                self.drawn += data.decode("utf-8", "replace")
        os.close(controller)

    def wait_until(self, shown, seconds):
        """Waits until the line on the terminal says so."""
        end = time.monotonic() + seconds
        while not re.search(shown, self.drawn):
            assert time.monotonic() < end and self.process.poll() is None, f"{shown!r} is not in {self.drawn[-500:]!r}"
            time.sleep(0.05)

    def end(self, seconds):
        """(exit status, standard output)"""
        output, _ = self.process.communicate(timeout=seconds)
        self.reader.join()
        return self.process.returncode, output


def budget_is_kept(weft, root, search, budget):
    begin = time.monotonic()
    search = Terminal(weft, root, "--budget", str(budget), search=search)
    _, output = search.end(patience.seconds(120))
    seconds = time.monotonic() - begin
    assert seconds <= budget + patience.seconds(5), f"a budget of {budget} s took {seconds:.1f} s"
    assert f"the budget ended the search ({budget} s)" in output, output
    # Its own clock says the same, rounded to a tenth of a second.
    said = float(re.search(r"wall ([0-9.]+) s", output).group(1))
    assert budget - 0.05 <= said <= seconds + 0.05, (budget, said, seconds)
    assert re.search(r"\d+ s  \d+ plans simulated, \d+ wait", search.drawn), search.drawn[-500:]


def sigterm_leaves_the_best_so_far(weft, root):
    search = Terminal(weft, root, "--budget", "0")
    search.wait_until(r"best \d.*bound \d+\.\d % below it", patience.seconds(200))
    search.process.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    status, output = search.end(patience.seconds(60))
    seconds = time.monotonic() - begin
    assert seconds <= patience.seconds(2), f"it went on for {seconds:.1f} s after SIGTERM"
    assert status == 130, status  # as any command that is interrupted
    assert "# interrupted: what was simulated until then" in output, output
    rows = [line for line in output.splitlines() if re.match(r"  \S.* mb\d", line)]
    assert rows, output
    assert "# not proven: " in output, output


def an_early_interrupt_says_what_to_do(weft, root):
    """An interrupt that comes twice at once, as from `timeout`, is one. A fast machine may have a plan by then."""
    search = subprocess.Popen([weft, *SEARCH, "--budget", "0", "--set", "nodes=512"], cwd=root, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    search.send_signal(signal.SIGINT)
    search.send_signal(signal.SIGINT)
    begin = time.monotonic()
    output, errors = search.communicate(timeout=patience.seconds(60))
    assert time.monotonic() - begin <= patience.seconds(2)
    assert search.returncode == 130, search.returncode
    assert "# interrupted: what was simulated until then" in output, (output, errors)
    if not re.search(r"^  \S.* mb\d", output, re.MULTILINE):
        assert "error: no plan was simulated to its end" in errors and "note: let it run until" in errors, errors


def a_budget_too_small_for_a_plan_is_an_error(weft, root):
    search = subprocess.run([weft, *SEARCH, "--budget", "0.5"], cwd=root, capture_output=True, text=True, check=False)
    assert search.returncode == 1, search
    assert "note: --budget SECONDS" in search.stderr, search.stderr


def budget_of_plans_is_kept(weft, root):
    for plans in (1, 5):  # plans are simulated four at a time
        words = ["plan", "--model", "llama3_8b", "--cluster", "dgx_h100", "--budget-plans", str(plans), "--json", "-", "-q"]
        result = json.loads(subprocess.run([weft, *words], cwd=root, capture_output=True, text=True, check=True).stdout)
        assert result["simulated"] <= plans and len(result["plans"]) <= plans, (plans, result["simulated"])


def main():
    root, weft = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    budget_is_kept(weft, root, SEARCH, 8)
    budget_is_kept(weft, root, RACKS, 20)
    budget_of_plans_is_kept(weft, root)
    an_early_interrupt_says_what_to_do(weft, root)
    a_budget_too_small_for_a_plan_is_an_error(weft, root)
    sigterm_leaves_the_best_so_far(weft, root)


if __name__ == "__main__":
    main()
