"""Rows of values, one of each factor, in which every pair of values of two factors stands at least once."""

import itertools

TRIES = 300  # rows drawn at random to hold a pair, before it is taken to be ruled out
BEST_OF = 20  # rows that are allowed, of which the one with the most new pairs is kept


def pairs_of(row):
    return {((a, row[a]), (b, row[b])) for a, b in itertools.combinations(sorted(row), 2)}


def cover(factors, allowed, draw):
    """Yields rows, dictionaries, those with many new pairs first. `allowed` refuses rows; pairs that no allowed row holds are
    left out. `draw` is a random.Random, so that a seed gives the same rows again."""
    names = sorted(factors)
    wanted = [((a, x), (b, y)) for a, b in itertools.combinations(names, 2) for x in factors[a] for y in factors[b]]
    draw.shuffle(wanted)
    missing = dict.fromkeys(wanted)
    for pair in wanted:
        if pair not in missing:
            continue
        best, most = None, 0
        found = 0
        for _ in range(TRIES):
            row = {name: draw.choice(factors[name]) for name in names} | dict(pair)
            if not allowed(row):
                continue
            new = sum(1 for each in pairs_of(row) if each in missing)
            if new > most:
                best, most = row, new
            found += 1
            if found == BEST_OF:
                break
        if best is None:
            del missing[pair]
            continue
        for each in pairs_of(best):
            missing.pop(each, None)
        yield best
