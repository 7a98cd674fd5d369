#pragma once

// Names of kernel addresses that were seen.

#include "name_map.h"

#include <stdbool.h>
#include <stdio.h>

// Name every entry by a table of lines "ADDRESS [TYPE] NAME": the symbol at or below it. Where
// type letters are missing, addresses are those of the entry hook inside a function, which begins
// at the 16 bytes before. Returns 0, -ENOENT when the table hides its addresses, or -ENOMEM.
int symbols_name(struct name_map *addresses, FILE *table, bool has_types);

// From /proc/kallsyms, or, where that hides them, from tracefs' own list (since Linux 6.5).
int symbols_name_seen(struct name_map *addresses, const char *tracefs_root);
