#!/bin/sh
# -P: modules in the folder one happens to be in are not taut's.
exec /usr/lib/taut/bin/python3 -P -m taut.cli.main "$@"
