"""Results: the JSON that the command writes, as objects."""

import collections.abc
import keyword

# The list that a table is made of where none is named: the first of these that the result has.
_MAIN = ("points", "plans", "servings", "workloads", "clusters", "training_jobs", "flows", "jobs", "engines", "ranks", "kernels",
         "categories", "links", "files")


def _wrapped(value):
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


class Record(collections.abc.Mapping):
    """A map of the result: its keys are attributes too, where they are names (`record.time_us`, `record["cluster.nodes"]`)."""

    __slots__ = ("_data",)

    def __init__(self, data):
        object.__setattr__(self, "_data", data)

    def __getitem__(self, key):
        return _wrapped(self._data[key])

    def __getattr__(self, name):
        try:
            return _wrapped(self._data[name])
        except KeyError:
            raise AttributeError(f"no '{name}' here; there are {', '.join(self._data)}") from None

    def __setattr__(self, name, value):
        raise AttributeError("a result cannot be changed; to_dict() gives a dict that can")

    def __iter__(self):
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def __dir__(self):
        return [*super().__dir__(), *(key for key in self._data if key.isidentifier() and not keyword.iskeyword(key))]

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{key}={_short(value)}' for key, value in self._data.items())})"

    def __reduce__(self):
        return type(self), (self._data,)

    def to_dict(self):
        """The same as plain dicts, lists, numbers and text: a copy."""
        return _copy(self._data)


def _short(value):
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list):
        return f"[{len(value)}]"
    return repr(value) if len(repr(value)) < 60 else repr(value)[:56] + "...'"


def _copy(value):
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _is_table(value):
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) or item is None for item in value)


def _flat(item, prefix=""):
    """Maps in it become columns "a.b"; lists of maps are left out."""
    row = {}
    for key, value in item.items():
        if isinstance(value, dict):
            row.update(_flat(value, f"{prefix}{key}."))
        elif not _is_table(value):
            row[prefix + key] = value
    return row


class Result(Record):
    """What a command found. Keys and units are those of the command's `--json`; the unit ends the name: time_us, busbw_GBps.

    exit_code: that of the command: 0, or 1 where work was cut off or a limit was missed
    """

    __slots__ = ("exit_code",)

    def __init__(self, data, exit_code=0):
        super().__init__(data)
        object.__setattr__(self, "exit_code", exit_code)

    def __reduce__(self):
        return Result, (self._data, self.exit_code)

    @property
    def tables(self):
        """Names of the lists that rows() and to_dataframe() take, the one they take by themselves first."""
        names = [key for key, value in self._data.items() if _is_table(value)]
        return sorted(names, key=lambda name: _MAIN.index(name) if name in _MAIN else len(_MAIN))

    def rows(self, table=None):
        """A table as a list of dicts, one for each row. A list within a row, such as the runs of a comparison, gives a row for each
        of its items; what would change a row (`changes`) gives none. A result without tables is one row. KeyError: it has no such table."""
        if table is None:
            tables = self.tables
            if not tables:
                return [_flat({key: value for key, value in self._data.items() if key != "configuration"})]
            table = tables[0]
        items = self._data[table]
        if not isinstance(items, list):
            raise KeyError(f"{table} is no table; there are {', '.join(self.tables) or 'none'}")
        rows = []
        for item in items:
            if item is None:
                continue
            row = _flat(item)
            inner = next((value for key, value in item.items() if _is_table(value) and key != "changes"), None)
            rows += [row] if inner is None else [{**row, **_flat(one)} for one in inner if one is not None]
        return rows

    def to_dataframe(self, table=None):
        """A table as a pandas.DataFrame, one line for each row of rows(table). ImportError: pandas is not installed; rows() needs
        none."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_dataframe() needs pandas (Debian: python3-pandas); rows() gives lists of dicts") from error
        return pandas.DataFrame(self.rows(table))
