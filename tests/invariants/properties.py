"""All properties, in the order in which they run."""

from bounds import BOUNDS
from faster import FASTER
from grains import GRAINS
from machines import MACHINES
from sizes import SIZES
from ways import WAYS

PROPERTIES = [*SIZES, *GRAINS, *FASTER, *MACHINES, *BOUNDS, *WAYS]
