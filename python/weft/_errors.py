"""Exceptions of weft, each with what a program wants to know of it."""


class WeftError(Exception):
    """Every error of weft but an interruption."""


class Diagnostic:
    """One mistake: where it stands, and what is wrong with it.

    file:    the file, or a name such as "<scenario>" for a dict; "" where it stands in none
    line:    from 1; 0 where it has none
    column:  from 1; 0 where it has none
    key:     path of the key, "cluster.fabric.links[2].latency"; the name of an argument; "" where it is about neither
    message: without its place
    note:    what would help; "" where nothing is known
    """

    __slots__ = ("file", "line", "column", "key", "message", "note", "text")

    def __init__(self, file="", line=0, column=0, key="", message="", note="", text=""):
        self.file, self.line, self.column = file, line, column
        self.key, self.message, self.note = key, message, note
        self.text = text or f"error: {message}\n"

    def __repr__(self):
        return f"Diagnostic(file={self.file!r}, line={self.line}, column={self.column}, key={self.key!r}, message={self.message!r})"


def _key_of_option(message):
    """An error of an option is told as "--max-error: ..." and is about the argument max_error."""
    word = message.partition(":")[0]
    return word[2:].replace("-", "_") if word.startswith("--") and " " not in word else ""


class ConfigError(WeftError, ValueError):
    """What was given is wrong: a file, a dict or an argument.

    diagnostics: every mistake that was found
    file, line, column, key, message, note: those of the first
    """

    def __init__(self, diagnostics):
        if isinstance(diagnostics, str):
            diagnostics = [{"message": diagnostics}]
        self.diagnostics = [Diagnostic(**entry) for entry in diagnostics]
        for one in self.diagnostics:
            one.key = one.key or _key_of_option(one.message)
        first = self.diagnostics[0]
        self.file, self.line, self.column, self.key = first.file, first.line, first.column, first.key
        self.message, self.note = first.message, first.note
        super().__init__("".join(one.text for one in self.diagnostics).rstrip("\n"))


class ConfigWarning(UserWarning):
    """What a command warns of: it runs, but something may not be as it was meant. In result.warnings too."""


class InternalError(WeftError, RuntimeError):
    """A bug of weft."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a command.

    result: what was finished until then, a Result whose `interrupted` is True; None where nothing was
    """

    def __init__(self, result=None):
        self.result = result
        super().__init__("interrupted" if result is None else "interrupted; .result has what was finished")
