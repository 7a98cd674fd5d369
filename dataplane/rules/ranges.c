#include "ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ranges_clear(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){0};
}

// Append behind what is there, or widen the last range that it touches.
static int append(struct ranges *ranges, struct range range)
{
	struct range *last = ranges->n > 0 ? &ranges->items[ranges->n - 1] : NULL;

	if (last != NULL && (range.first <= last->last || range.first - last->last == 1)) {
		if (range.last > last->last)
			last->last = range.last;
		return 0;
	}
	if (ranges->n == RANGES_MAX)
		return -E2BIG;
	// Grows where n is a power of two: every size has been room enough up to there.
	if ((ranges->n & (ranges->n - 1)) == 0) {
		size_t room = ranges->n == 0 ? 1 : 2 * ranges->n;
		struct range *items = realloc(ranges->items, room * sizeof(*items));
		if (items == NULL)
			return -ENOMEM;
		ranges->items = items;
	}
	ranges->items[ranges->n++] = range;
	return 0;
}

// Replace the set if it could be made.
static int become(struct ranges *ranges, struct ranges *made, int err)
{
	if (err < 0) {
		ranges_clear(made);
		return err;
	}
	ranges_clear(ranges);
	*ranges = *made;
	return 0;
}

int ranges_add(struct ranges *ranges, unsigned __int128 first, unsigned __int128 last)
{
	const struct range added = {first, last};
	struct ranges made = {0};
	bool is_added = false;
	int err = 0;

	for (size_t i = 0; i < ranges->n && err == 0; i++) {
		if (!is_added && first <= ranges->items[i].first) {
			err = append(&made, added);
			is_added = true;
		}
		if (err == 0)
			err = append(&made, ranges->items[i]);
	}
	if (!is_added && err == 0)
		err = append(&made, added);
	return become(ranges, &made, err);
}

int ranges_invert(struct ranges *ranges, unsigned __int128 last)
{
	unsigned __int128 next = 0;
	struct ranges made = {0};
	int err = 0;

	for (size_t i = 0; i < ranges->n && err == 0; i++) {
		const struct range *range = &ranges->items[i];
		if (range->first > next)
			err = append(&made, (struct range){next, range->first - 1});
		if (range->last == last)
			return become(ranges, &made, err);
		next = range->last + 1;
	}
	if (err == 0)
		err = append(&made, (struct range){next, last});
	return become(ranges, &made, err);
}

int ranges_intersect(struct ranges *ranges, const struct ranges *other)
{
	struct ranges made = {0};
	size_t i = 0, j = 0;
	int err = 0;

	while (i < ranges->n && j < other->n && err == 0) {
		const struct range *a = &ranges->items[i], *b = &other->items[j];
		struct range both = {a->first > b->first ? a->first : b->first,
			a->last < b->last ? a->last : b->last};
		if (both.first <= both.last)
			err = append(&made, both);
		if (a->last < b->last)
			i++;
		else
			j++;
	}
	return become(ranges, &made, err);
}

bool ranges_has(const struct ranges *ranges, unsigned __int128 value)
{
	for (size_t i = 0; i < ranges->n; i++)
		if (value >= ranges->items[i].first && value <= ranges->items[i].last)
			return true;
	return false;
}

unsigned int ranges_block(unsigned __int128 first, unsigned __int128 last, unsigned int width)
{
	unsigned int n = 0;

	while (n < width) {
		unsigned __int128 longer = ((unsigned __int128)2 << n) - 1;
		if ((first & longer) != 0 || last - first < longer)
			break;
		n++;
	}
	return n;
}
