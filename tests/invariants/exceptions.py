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


EXCEPTIONS = [
    Exception_("two channels to an NVLink", "chosen",
               {"cluster": "dgx1_p100", "collective": ("reduce_scatter", "all_gather")}, 0.08,
               "chunks of one slice keep the two channels of a link in phase, so that each message takes twice as long; a second "
               "slice goes out while the other channel still sends its first, and puts them out of phase"),
    Exception_("a slow link between sockets", "fidelity", {"cluster": "pcie8_hpc", "collective": "sendrecv"}, 0.09,
               "UPI is slower than PCIe: packets of a slice have left their GPU once the socket queues them, and the next slice "
               "is made ready meanwhile; a flow keeps its sender until it is through"),
]
