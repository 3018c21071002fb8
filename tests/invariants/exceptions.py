"""Where a property may be missed, each with its physical reason and its own bound. Fewer than ten rows, none over 10 %."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Exception_:
    name: str
    property: str
    facts: dict  # all must be those of the comparison; a tuple: one of these
    bound: float
    reason: str

    def covers(self, name, comparison):
        def same(key, wanted):
            found = comparison.facts.get(key)
            return found in wanted if isinstance(wanted, tuple) else found == wanted

        return name == self.property and comparison.difference <= self.bound and all(same(*item) for item in self.facts.items())


EXCEPTIONS = []
