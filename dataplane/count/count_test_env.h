#pragma once

// What the unit tests of this folder share: includes that cmocka wants, and numbers at random.

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Knuth's linear congruential generator (TAOCP 2, 3.3.4): the same numbers every time.
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % n;
}
