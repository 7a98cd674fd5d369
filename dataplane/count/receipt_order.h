#pragma once

// Puts the packets of one direction in the order of their receipt. One may stand in the file up to
// RECEIPT_ORDER_REACH receipts from its place, as far as analysis/tables.py sorts too.

#include <stdbool.h>
#include <stdint.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { RECEIPT_ORDER_REACH = 1 << 4 };
#else
enum { RECEIPT_ORDER_REACH = 1 << 16 };
#endif

struct receipt {
	int64_t received_ns;
	uint64_t seq; // tells those of one time apart
	bool is_void, is_cold;
};

// Returns 0 to go on; anything else ends the adding, which returns it.
typedef int receipt_order_give(void *context, const struct receipt *receipt);

struct receipt_order;

// give is called with each receipt, times ascending. Returns 0 or -ENOMEM.
int receipt_order_create(receipt_order_give *give, void *context, struct receipt_order **out);
void receipt_order_destroy(struct receipt_order *order);

// Returns 0, -ERANGE where a receipt is further from its place, or what give returned.
int receipt_order_add(struct receipt_order *order, const struct receipt *receipt);

// Give what was not given.
int receipt_order_end(struct receipt_order *order);
