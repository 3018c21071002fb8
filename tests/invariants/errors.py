"""What a command can come to that is no result."""


class Refused(Exception):
    """The program says why it does not run this: such a case is left out, and counted."""


class Broken(Exception):
    """A crash, an internal error, no answer: a failure of whatever property met it."""
