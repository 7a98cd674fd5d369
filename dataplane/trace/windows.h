#pragma once

// Stretches of time worth keeping: in order, apart, both ends included. Those that touch are one.

#include <stddef.h>
#include <stdint.h>

struct window {
	uint64_t from_tsc, until_tsc;
};

struct windows {
	struct window *items;
	size_t n, capacity;
};

void windows_destroy(struct windows *windows);

// Add a stretch; it becomes one with those it touches. Returns 0 or -ENOMEM.
int windows_add(struct windows *windows, uint64_t from_tsc, uint64_t until_tsc);

// Remove the first n windows.
void windows_drop(struct windows *windows, size_t n);
