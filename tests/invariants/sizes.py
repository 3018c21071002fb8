"""Properties between sizes of one collective: more bytes never take less time, and no step where Weft's own grain changes."""

import known_falls
from comparison import Comparison, Property, choice_of, said, size, slower
from domain import LARGEST

FALL = 0.03  # of NCCL's own choice: below it is not worth a row
STEP = 0.03


def held_factors(domain):
    return {"cluster": domain.gpu_clusters(), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": domain.choices(), "channels": [0, 1, 2, 5, 8, 16, 24], "from": [8, 12, 20, 28]}


def check_held(weft, domain, row):
    """Algorithm and protocol are asked for; neighbours for which NCCL changes channels, chunk or warps are not compared."""
    options = [*domain.arguments(row), "-b", str(row["from"]), "-e", size(min(1 << 30, domain.most_bytes))]
    points = weft.series(row["collective"], *options)
    for less, more in zip(points, points[1:]):
        if choice_of(less) != choice_of(more) or less["bytes"] == more["bytes"]:
            continue
        yield Comparison(slower(less["time_us"], more["time_us"]), 0.001,
                         f"{less['bytes']} B take {less['time_us']} us, {more['bytes']} B {more['time_us']} us ({said(more)})",
                         [["collective", row["collective"], *options]], domain.facts(row) | {"bytes": more["bytes"]})


def chosen_factors(domain):
    return {"cluster": list(domain.clusters), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives}


def check_chosen(weft, domain, row):
    """Where NCCL's own choice changes: falls are its own, if a real log shows them."""
    options = [*domain.arguments(row), "-b", "8", "-e", size(min(LARGEST, 4 * domain.most_bytes))]
    points = weft.series(row["collective"], *options)
    for less, more in zip(points, points[1:]):
        difference = slower(less["time_us"], more["time_us"])
        known = known_falls.reason(row, less, more, difference) if difference > FALL else None
        yield Comparison(0.0 if known else difference, FALL if choice_of(less) != choice_of(more) else 0.001,
                         f"{less['bytes']} B take {less['time_us']} us with {said(less)}, {more['bytes']} B {more['time_us']} us "
                         f"with {said(more)}", [["collective", row["collective"], *options]],
                         domain.facts(row) | {"bytes": more["bytes"]})


SIZES = [
    Property("monotone", "more bytes never take less time, the choice held", held_factors, check_held, sample=50),
    Property("chosen", "falls of the time where NCCL's choice changes are known ones", chosen_factors, check_chosen, sample=24),
]
