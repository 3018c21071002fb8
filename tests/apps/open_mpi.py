"""The environment in which tests start programs under Open MPI."""

import os


def environment():
    """Open MPI asks whoever is root twice, and a test may run in a container. It ends without freeing all of its own memory."""
    sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", ASAN_OPTIONS=sanitizer)
