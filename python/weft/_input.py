"""Arguments of a function as words of the command line, and dicts as the YAML that the command reads."""

import collections.abc
import json
import numbers
import os
import re

from ._errors import ConfigError

# Text that YAML reads as itself without quotes. A sweep takes a quoted size for a name.
_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_ ./+%()>*=-]*(?<! )")
_NO_TEXT = re.compile(r"(?i:true|false|null|yes|no|on|off|y|n)|[-+.0-9][-+.0-9e_]*|0[xob].*|\.{3}.*")
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.\[\]-]*")


def _wrong(path, value, expected="text, a number, a bool, None, a list or a dict"):
    name = type(value).__name__
    raise ConfigError([{"file": path.partition(":")[0], "key": path.partition(":")[2],
                        "message": f"{path.partition(':')[2] or 'the value'}: expected {expected}, got {value!r} of type {name}"}])


def _scalar(value, path):
    if value is None:
        return "null"
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and not _NO_TEXT.fullmatch(value)
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        if number != number or number in (float("inf"), float("-inf")):
            _wrong(path, value, "a finite number")
        return repr(number)
    return _wrong(path, value)


def _is_list(value):
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes, bytearray)) or hasattr(value, "tolist")


def _lines(value, path, indent):
    """The lines of a value that is a map or a list; else the text of a scalar."""
    pad = "  " * indent
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        value = value.tolist()
    if hasattr(value, "to_dict") and not isinstance(value, collections.abc.Mapping):
        value = value.to_dict()
    if isinstance(value, collections.abc.Mapping):
        if not value:
            return "{}"
        entries = []
        for key, item in value.items():
            if not isinstance(key, str):
                _wrong(path, key, "keys that are text")
            below = f"{path}{'' if path.endswith(':') else '.'}{key}"
            name = key if _PLAIN_KEY.fullmatch(key) and not _NO_TEXT.fullmatch(key) else json.dumps(key, ensure_ascii=False)
            entries.append((f"{pad}{name}:", _lines(item, below, indent + 1)))
    elif _is_list(value):
        if not value:
            return "[]"
        entries = [(f"{pad}-", _lines(item, f"{path}[{i}]", indent + 1)) for i, item in enumerate(value)]
    else:
        return _scalar(value, path)
    return [line for head, below in entries for line in ([f"{head} {below}"] if isinstance(below, str) else [head, *below])]


def yaml_text(value, name):
    """A dict as YAML; `name` is what errors call it. ConfigError, with its key, for a value that YAML has no word for."""
    lines = _lines(value, f"{name}:", 0)
    return lines + "\n" if isinstance(lines, str) else "\n".join(lines) + "\n"


def flow_text(value, path):
    """A value on one line, as `--set` takes it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {flow_text(item, f'{path}.{key}')}" for key, item in value.items()) + "}"
    if _is_list(value):
        return "[" + ", ".join(flow_text(item, f"{path}[{i}]") for i, item in enumerate(value)) + "]"
    return _scalar(value, f":{path}")


class Words:
    """The words of a command, in the making."""

    def __init__(self, *words):
        self.words, self.texts, self._places = list(words), {}, []

    def configuration(self, value, name):
        """A path as it is; a dict as a text of its own, under the name that errors have for it."""
        if isinstance(value, collections.abc.Mapping):
            given = f"<{name}>"
            while given in self.texts:
                given = f"<{name} {len(self.texts) + 1}>"
            self.texts[given] = yaml_text(value, given)
            return given
        return self.path(value, name)

    def path(self, value, name):
        if isinstance(value, (str, os.PathLike)):
            text = os.fspath(value)
            if isinstance(text, str) and text != "":
                return text
        raise TypeError(f"{name}: expected a path or a dict, got {value!r} of type {type(value).__name__}")

    def place(self, *values):
        """Arguments without an option."""
        self._places += values

    def option(self, name, value):
        """None and False: not given. True: a flag. A list: given once for each."""
        option = "-" + name if len(name) == 1 else "--" + name.replace("_", "-")
        if value is None or value is False:
            return
        if value is True:
            self.words.append(option)
        elif _is_list(value):
            for item in value:
                self.option(name, item)
        elif isinstance(value, (str, os.PathLike)):
            self.words.append(f"{option}={os.fspath(value)}")
        elif isinstance(value, numbers.Number):
            self.words.append(f"{option}={_scalar(value, f':{name}')}")
        else:
            raise TypeError(f"{name}: expected text or a number, got {value!r} of type {type(value).__name__}")

    def options(self, values):
        for name, value in values.items():
            if name in ("set", "nccl") and value is not None:
                if not isinstance(value, collections.abc.Mapping):
                    raise TypeError(f"{name}: expected a dict, got {value!r} of type {type(value).__name__}")
                for key, item in value.items():
                    self.words.append(f"--{name}={key}={flow_text(item, key) if name == 'set' else item}")
            else:
                self.option(name, value)

    def all(self):
        return [*self.words, *(["--", *self._places] if self._places else [])]
