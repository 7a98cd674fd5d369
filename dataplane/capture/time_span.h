#pragma once

// Distances of time stamps, which a forged capture may put anywhere in 64 bits.

#include <stdint.h>

// Some 146 years. The difference of two such distances has room in 64 bits, for whoever reads them.
static const int64_t span_most_ns = (INT64_C(1) << 62) - 1;

// ns - other_ns; beyond 64 bits, the nearest value that they hold.
static inline int64_t ns_minus(int64_t ns, int64_t other_ns)
{
	int64_t difference;

	if (__builtin_expect(__builtin_sub_overflow(ns, other_ns, &difference), 0))
		return ns < other_ns ? INT64_MIN : INT64_MAX;
	return difference;
}

// The distance between two time stamps, cut to span_most_ns in either direction.
static inline int64_t span_ns(int64_t from_ns, int64_t to_ns)
{
	int64_t span = ns_minus(to_ns, from_ns);

	if (__builtin_expect(span > span_most_ns, 0))
		return span_most_ns;
	return __builtin_expect(span < -span_most_ns, 0) ? -span_most_ns : span;
}
