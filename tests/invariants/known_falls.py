"""Where NCCL's own choice makes a larger call faster than a smaller one: its tuning compares modelled times, and where it leaves
an algorithm too late, or takes one too early, time falls at the change. Each row names what shows it in a real log.
"""

# (collective, choice before, choice after, what shows it); a choice is "algorithm protocol".
KNOWN = []


def reason(row, less, more):
    """What is known of a fall between two points of a row; nothing if it is not known."""
    before, after = (f"{point['algorithm']} {point['protocol']}" for point in (less, more))
    for collective, old, new, shown in KNOWN:
        if (row["collective"], before, after) == (collective, old, new):
            return shown
    return None
