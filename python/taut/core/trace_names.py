"""What instances of tracefs are called that taut makes, by the process that made one.

Each has the number of that process and the PID namespace that it is from, for containers have other
numbers; in the names of an older taut there is no namespace.
"""

import re

TRACE = re.compile(r"taut-(\d+)(?:-(?P<namespace>\d+))?(?:-all)?")
"""Those of taut-trace: the same as in dataplane/trace/tracefs.c."""

AUDIT = re.compile(r"taut-audit-(\d+)-(\d+)(?:-(?P<namespace>\d+))?(?:-all)?")
"""Those of `taut host audit --trace`: second, when the process began (processes.py)."""
