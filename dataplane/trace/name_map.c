#include "name_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_SLOTS = 256,
	CACHE_LINE = 64,
	OR_LEN = 4,
};

static const char OR[] = " or "; // between two names

static_assert(sizeof(struct name_entry) == CACHE_LINE, "one cache line");

void name_map_init(struct name_map *map, size_t limit)
{
	*map = (struct name_map){.limit = limit};
}

void name_map_destroy(struct name_map *map)
{
	free(map->entries);
	map->entries = NULL;
	map->n = map->n_slots = 0;
}

// The slot of key, or the free one where it belongs. Fibonacci hashing: addresses end in zeros.
static struct name_entry *slot_of(struct name_entry *entries, size_t n_slots, uint64_t key)
{
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_slots - 1);

	while (entries[at].is_used && entries[at].key != key)
		at = (at + 1) & (n_slots - 1);
	return &entries[at];
}

static bool grow_to(struct name_map *map, size_t n_slots)
{
	size_t size = n_slots * sizeof(struct name_entry);
	struct name_entry *entries = aligned_alloc(CACHE_LINE, size);

	if (entries == NULL)
		return false;
	// Touched now: no page fault comes with a name later, and memory grows here only.
	memset(entries, 0, size);
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->entries[i].is_used)
			*slot_of(entries, n_slots, map->entries[i].key) = map->entries[i];
	free(map->entries);
	map->entries = entries;
	map->n_slots = n_slots;
	return true;
}

bool name_map_reserve(struct name_map *map, size_t n)
{
	size_t n_slots = map->n_slots == 0 ? FIRST_SLOTS : map->n_slots;

	while (n * 2 > n_slots)
		n_slots *= 2;
	return n_slots == map->n_slots || grow_to(map, n_slots);
}

struct name_entry *name_map_take(struct name_map *map, uint64_t key)
{
	struct name_entry *entry =
		map->n_slots > 0 ? slot_of(map->entries, map->n_slots, key) : NULL;

	if (entry != NULL && entry->is_used)
		return entry;
	if (map->n >= map->limit || !name_map_reserve(map, map->n + 1)) {
		map->n_refused++;
		return NULL;
	}
	entry = slot_of(map->entries, map->n_slots, key);
	*entry = (struct name_entry){.key = key, .is_used = true};
	map->n++;
	return entry;
}

const struct name_entry *name_map_find(const struct name_map *map, uint64_t key)
{
	if (map->n_slots == 0)
		return NULL;
	const struct name_entry *entry = slot_of(map->entries, map->n_slots, key);
	return entry->is_used ? entry : NULL;
}

// A fork has its parent's name until it runs another program. That may be the one that had the
// number before: then one of the two names, of n bytes, goes.
static void drop_twin(struct name_entry *entry, size_t n)
{
	const char *last = entry->text + entry->last;

	if (entry->last < n + OR_LEN)
		return;
	size_t before = entry->last - n - OR_LEN;
	bool is_whole = before == 0 ||
			(before > OR_LEN && memcmp(entry->text + before - OR_LEN, OR, OR_LEN) == 0);
	if (!is_whole || memcmp(entry->text + before, last, n) != 0)
		return;
	entry->text[before + n] = '\0';
	entry->last = (uint8_t)before;
}

void name_entry_set(struct name_entry *entry, const char *text, size_t len)
{
	char *last = entry->text + entry->last;
	size_t room = sizeof(entry->text) - 1 - entry->last;
	size_t n = strnlen(text, len < room ? len : room);

	// Mostly the same name again.
	if (memcmp(last, text, n) == 0 && last[n] == '\0')
		return;
	memcpy(last, text, n);
	last[n] = '\0';
	drop_twin(entry, n);
}

void name_entry_add(struct name_entry *entry, const char *text, size_t len)
{
	size_t n = strlen(entry->text);

	if (n > entry->last && n + OR_LEN + strnlen(text, len) < sizeof(entry->text)) {
		memcpy(entry->text + n, OR, OR_LEN + 1);
		entry->last = (uint8_t)(n + OR_LEN);
	}
	name_entry_set(entry, text, len);
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = (*(struct name_entry *const *)a)->key;
	uint64_t y = (*(struct name_entry *const *)b)->key;

	return x < y ? -1 : x > y;
}

long name_map_sorted(const struct name_map *map, struct name_entry ***out)
{
	size_t n = 0;
	struct name_entry **sorted = malloc((map->n + 1) * sizeof(struct name_entry *));

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->entries[i].is_used)
			sorted[n++] = &map->entries[i];
	qsort(sorted, n, sizeof(struct name_entry *), by_key);
	*out = sorted;
	return (long)n;
}
