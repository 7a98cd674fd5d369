#pragma once

// A set of numbers of up to 128 bits: addresses, ports, whatever a rule compares. Its ranges are
// sorted and neither overlap nor touch. Memory is malloc's and the set's: {0} is empty, and
// ranges_clear gives it back.

#include <stdbool.h>
#include <stddef.h>

enum { RANGES_MAX = 4096 }; // in one set

struct range {
	unsigned __int128 first, last;
};

struct ranges {
	struct range *items;
	size_t n;
};

// Each returns 0, -ENOMEM, or -E2BIG where there would be more than RANGES_MAX; the set is then
// what it was. first <= last.
int ranges_add(struct ranges *ranges, unsigned __int128 first, unsigned __int128 last);
// Becomes all of 0 to last that was not in it; nothing in it may be above last.
int ranges_invert(struct ranges *ranges, unsigned __int128 last);
// Keeps what is in other, too.
int ranges_intersect(struct ranges *ranges, const struct ranges *other);

bool ranges_has(const struct ranges *ranges, unsigned __int128 value);
void ranges_clear(struct ranges *ranges);

// The longest block of 2^n numbers that begins at first, is a multiple of its size, and ends at
// last or before. Returns n; at most width, the numbers' bits.
unsigned int ranges_block(unsigned __int128 first, unsigned __int128 last, unsigned int width);
