#include "symbols.h"

#include "decode.h"
#include "tracefs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRY_ALIGN = 16,
	// No symbol that far below an address in a function: the address is in none that is listed.
	FUNCTION_BYTES_MAX = 1 << 16,
};

struct best {
	uint64_t start; // 0: none yet
	char name[NAME_LEN + 1];
};

// The first of n sorted entries at or above address.
static size_t first_from(struct name_entry *const *sorted, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (sorted[middle]->key < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// One line of the table. Returns false when it is no function.
static bool parse_line(char *line, bool has_types, uint64_t *address, char **name)
{
	char *at;

	*address = strtoull(line, &at, 16);
	if (at == line || *at != ' ')
		return false;
	if (has_types) {
		if (strchr("tTwW", at[1]) == NULL || at[1] == '\0' || at[2] != ' ')
			return false;
		at += 2;
	} else {
		*address &= ~(uint64_t)(ENTRY_ALIGN - 1);
	}
	*name = at + 1;
	(*name)[strcspn(*name, " \t\n")] = '\0';
	return true;
}

// Returns how many lines had an address.
static size_t scan(
	FILE *table, bool has_types, struct name_entry *const *sorted, size_t n, struct best *best)
{
	char *line = NULL;
	size_t size = 0, n_found = 0;

	while (getline(&line, &size, table) > 0) {
		uint64_t address;
		char *name;
		if (!parse_line(line, has_types, &address, &name) || address == 0)
			continue;
		n_found++;
		size_t at = first_from(sorted, n, address);
		// Entries above this one are reached through it afterwards. Of several names of one
		// place the first counts, as in the kernel's own messages.
		if (at < n && address > best[at].start) {
			best[at].start = address;
			snprintf(best[at].name, sizeof(best[at].name), "%s", name);
		}
	}
	free(line);
	return n_found;
}

static void apply(struct name_entry *const *sorted, size_t n, struct best *best)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && best[i - 1].start > best[i].start)
			best[i] = best[i - 1];
		uint64_t distance = sorted[i]->key - best[i].start;
		bool is_exact = sorted[i]->tag == ADDRESS_FUNCTION;
		// A pointer to a function is where it begins; anything else is another's name.
		if (best[i].start > 0 && distance < (is_exact ? 1 : FUNCTION_BYTES_MAX))
			name_entry_set(sorted[i], best[i].name, NAME_LEN);
	}
}

int symbols_name(struct name_map *addresses, FILE *table, bool has_types)
{
	struct name_entry **sorted;
	long n = name_map_sorted(addresses, &sorted);

	if (n < 0)
		return (int)n;
	struct best *best = calloc((size_t)n + 1, sizeof(*best));
	int err = best == NULL ? -ENOMEM : 0;
	if (err == 0 && scan(table, has_types, sorted, (size_t)n, best) == 0)
		err = -ENOENT;
	if (err == 0)
		apply(sorted, (size_t)n, best);
	free(best);
	free(sorted);
	return err;
}

int symbols_name_seen(struct name_map *addresses, const char *tracefs_root)
{
	char path[2 * TRACEFS_PATH_LEN];
	FILE *table = fopen("/proc/kallsyms", "re");
	int err = table == NULL ? -ENOENT : symbols_name(addresses, table, true);

	if (table != NULL)
		fclose(table);
	if (err != -ENOENT)
		return err;
	snprintf(path, sizeof(path), "%s/available_filter_functions_addrs", tracefs_root);
	table = fopen(path, "re");
	if (table == NULL)
		return -ENOENT;
	err = symbols_name(addresses, table, false);
	fclose(table);
	return err;
}
