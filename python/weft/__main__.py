"""python3 -m weft: the command line of `weft`."""

import sys

from . import _weft


def main():
    sys.stdout.flush()
    sys.exit(_weft.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
