"""What properties are made of: rows of values, and comparisons of what commands give for them."""

import dataclasses
from collections.abc import Callable, Iterable

import once_failed
import pairwise


@dataclasses.dataclass
class Comparison:
    """`difference` is relative, 0 where the property holds exactly; above `bound` it fails. `facts` is what exceptions go by:
    cluster, nodes, collective, algorithm, protocol, bytes, ..."""

    difference: float
    bound: float
    says: str
    commands: list[list[str]]
    facts: dict


@dataclasses.dataclass
class Property:
    """`factors(domain)` names the values to combine; `allowed(domain, row)` rules combinations out; `check(weft, domain, row)`
    runs what it likes and yields comparisons. `sample` rows are the test of every change."""

    name: str
    title: str
    factors: Callable[..., dict]
    check: Callable[..., Iterable[Comparison]]
    sample: int
    allowed: Callable[..., bool] = lambda domain, row: domain.allowed(row)

    def rows(self, domain, draw, everything):
        """What once failed, then all pairs of values; of a sample's rows only the first are taken, which hold many pairs."""
        factors = self.factors(domain)
        yield from once_failed.rows(self.name, factors, everything)
        yield from pairwise.cover(factors, lambda row: self.allowed(domain, row), draw)


def slower(time, reference):
    """How much longer, relative; 0 if it is not."""
    return max(0.0, time / reference - 1) if reference > 0 else 0.0


def apart(one, other):
    """How far two times are apart, relative to the shorter one."""
    low, high = sorted((one, other))
    if high == low:
        return 0.0
    return high / low - 1 if low > 0 else float("inf")


def choice_of(point):
    """All that is held: with fewer warps, or another chunk, more bytes may take less time on real machines too."""
    return tuple(point.get(key) for key in ("algorithm", "protocol", "channels", "chunk_bytes", "warps"))


def said(point):
    algorithm, protocol, channels, chunk, warps = choice_of(point)
    return f"{algorithm} {protocol} x{channels}" + (f", chunks of {chunk} B, {warps} warps" if chunk is not None else "")


def size(count):
    """A size as `weft collective -b` takes it."""
    for unit, text in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if count >= unit and count % unit == 0:
            return f"{count // unit}{text}"
    return str(count)
