#include "windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void windows_destroy(struct windows *windows)
{
	free(windows->items);
	*windows = (struct windows){0};
}

static int make_room(struct windows *windows)
{
	if (windows->n < windows->capacity)
		return 0;
	size_t capacity = windows->capacity == 0 ? FIRST_CAPACITY : 2 * windows->capacity;
	struct window *items = realloc(windows->items, capacity * sizeof(*items));
	if (items == NULL)
		return -ENOMEM;
	windows->items = items;
	windows->capacity = capacity;
	return 0;
}

// Looked for from the end: a new one is nearly always the last.
int windows_add(struct windows *windows, uint64_t from_tsc, uint64_t until_tsc)
{
	size_t end = windows->n;
	int err = make_room(windows);

	if (err < 0)
		return err;
	while (end > 0 && windows->items[end - 1].from_tsc > until_tsc)
		end--;
	size_t begin = end;
	while (begin > 0 && windows->items[begin - 1].until_tsc >= from_tsc) {
		const struct window *touched = &windows->items[--begin];
		if (touched->from_tsc < from_tsc)
			from_tsc = touched->from_tsc;
		if (touched->until_tsc > until_tsc)
			until_tsc = touched->until_tsc;
	}
	// Those from begin to end become one.
	memmove(&windows->items[begin + 1], &windows->items[end],
		(windows->n - end) * sizeof(*windows->items));
	windows->items[begin] = (struct window){from_tsc, until_tsc};
	windows->n += 1 - (end - begin);
	return 0;
}

void windows_drop(struct windows *windows, size_t n)
{
	if (n == 0)
		return;
	windows->n -= n;
	memmove(windows->items, windows->items + n, windows->n * sizeof(*windows->items));
}
