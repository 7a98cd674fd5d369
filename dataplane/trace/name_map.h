#pragma once

// Numbers that got names while they were seen: threads, interrupts, addresses. Grows to a limit;
// what comes after it is counted and stays without a name.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_LEN = 52 };

struct name_entry {
	uint64_t key;
	bool is_used;
	uint8_t tag; // the caller's
	uint8_t last; // where in text the last name begins: those before it are kept
	char text[NAME_LEN + 1]; // makes an entry one cache line
};

struct name_map {
	struct name_entry *entries; // open addressing; NULL: empty
	size_t n, n_slots, limit;
	uint64_t n_refused;
};

void name_map_init(struct name_map *map, size_t limit);
void name_map_destroy(struct name_map *map);

// Have room for n names, so that no memory is taken before there are more. Returns false where
// there is none.
bool name_map_reserve(struct name_map *map, size_t n);

// The entry of key, made if it is not there; NULL where the map is full or memory is short.
struct name_entry *name_map_take(struct name_map *map, uint64_t key);

const struct name_entry *name_map_find(const struct name_map *map, uint64_t key);

// Set the name, at most len bytes of text or up to its end, or the last one of several.
void name_entry_set(struct name_entry *entry, const char *text, size_t len);

// The number was another's before: keep that name, "this or that", while there is room for both.
void name_entry_add(struct name_entry *entry, const char *text, size_t len);

// Every entry, by key: stored in *out, which the caller frees. Returns how many, or -ENOMEM.
long name_map_sorted(const struct name_map *map, struct name_entry ***out);
