"""How long a test waits for a program: WEFT_TEST_PATIENCE times as long where programs are slow, as under sanitizers."""

import os


def seconds(usual):
    return usual * float(os.environ.get("WEFT_TEST_PATIENCE", "1"))
