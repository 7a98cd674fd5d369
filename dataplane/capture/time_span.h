#pragma once

// Distances of time stamps, which a forged capture may put anywhere in 64 bits.

#include <stdint.h>

// Some 146 years. The difference of two such distances has room in 64 bits, for whoever reads them.
static const int64_t span_most_ns = (INT64_C(1) << 62) - 1;

// What 64 bits do not hold is the last that they do.
static inline int64_t ns_minus(int64_t ns, int64_t other_ns)
{
	int64_t difference;

	if (__builtin_expect(__builtin_sub_overflow(ns, other_ns, &difference), 0))
		return ns < other_ns ? INT64_MIN : INT64_MAX;
	return difference;
}

// No farther than span_most_ns, either way.
static inline int64_t span_ns(int64_t from_ns, int64_t to_ns)
{
	int64_t span = ns_minus(to_ns, from_ns);

	if (__builtin_expect(span > span_most_ns, 0))
		return span_most_ns;
	return __builtin_expect(span < -span_most_ns, 0) ? -span_most_ns : span;
}
