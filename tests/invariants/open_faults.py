"""Faults that are known and not mended yet, by what they miss. They do not fail the sample, so that new ones are seen; the table counts
each. A row goes when its fault is mended. Nothing here is an exception: for these there is a reason (exceptions.py)."""

from exceptions import Exception_ as Fault

OPEN = []
