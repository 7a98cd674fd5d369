"""The made machines of taut.testing, under the name that taut's own tests have for them."""

from taut.testing.hosts import BARE_METAL as BARE_METAL
from taut.testing.hosts import HOLDER as HOLDER
from taut.testing.hosts import POLL as POLL
from taut.testing.hosts import SLEEP as SLEEP
from taut.testing.hosts import Link as Link
from taut.testing.hosts import TreeWriter as TreeWriter
from taut.testing.hosts import judge as judge
from taut.testing.hosts import put as put
from taut.testing.hosts import remedied as remedied
from taut.testing.hosts import snapshot as snapshot
from taut.testing.hosts import tree as tree
