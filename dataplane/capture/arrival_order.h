#pragma once

// Puts matched packets in the order of their egress time stamps, of which a file's may run
// backwards; docs/matching.md says how far. In order they cost a copy each.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARRIVAL_REACH = 1 << 16 };

struct arrival {
	int64_t ts_ns;
	uint64_t ingress_pos : 63; // tells those of one time apart
	uint64_t is_cold : 1;
};

struct arrival_order {
	struct arrival *held, *came; // up to ARRIVAL_REACH each; held: in order
	struct arrival *merged; // room for both; made when first needed
	size_t n_held, n_came;
	bool is_sorted; // what came
	void (*give)(void *context, const struct arrival *arrival);
	void *context;
};

// give is called with each arrival, times ascending as far as the reach goes. Returns 0 or -ENOMEM,
// and then it is as after arrival_order_fini.
int arrival_order_init(struct arrival_order *order,
	void (*give)(void *context, const struct arrival *arrival), void *context);
void arrival_order_fini(struct arrival_order *order);

// Give those that no other within reach can come before. Returns 0, or -ENOMEM where they are out
// of order.
int arrival_order_turn(struct arrival_order *order);

// Give what was not given; the order is empty then. Returns 0 or -ENOMEM.
int arrival_order_end(struct arrival_order *order);

static inline bool arrival_is_before(const struct arrival *a, const struct arrival *b)
{
	return a->ts_ns < b->ts_ns || (a->ts_ns == b->ts_ns && a->ingress_pos < b->ingress_pos);
}

// Hot path. Returns 0 or -ENOMEM.
static inline int arrival_order_add(struct arrival_order *order, struct arrival arrival)
{
	struct arrival *at = &order->came[order->n_came];

	// Too few come in a row for the processor to see where that goes.
	__builtin_prefetch(at + 32, 1);
	*at = arrival;
	if (order->n_came > 0 && arrival_is_before(at, at - 1))
		order->is_sorted = false;
	return ++order->n_came < ARRIVAL_REACH ? 0 : arrival_order_turn(order);
}
