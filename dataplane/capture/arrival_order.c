#include "arrival_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOVES_A_PLACE = 8 }; // more than that, and sorting by comparison is faster

int arrival_order_init(struct arrival_order *order,
	void (*give)(void *context, const struct arrival *arrival), void *context)
{
	*order = (struct arrival_order){.is_sorted = true, .give = give, .context = context};
	order->held = malloc(ARRIVAL_REACH * sizeof(*order->held));
	order->came = malloc(ARRIVAL_REACH * sizeof(*order->came));
	if (order->held != NULL && order->came != NULL)
		return 0;
	arrival_order_fini(order);
	return -ENOMEM;
}

void arrival_order_fini(struct arrival_order *order)
{
	free(order->held);
	free(order->came);
	free(order->merged);
	*order = (struct arrival_order){.is_sorted = true};
}

static int compare(const void *a, const void *b)
{
	return arrival_is_before(b, a) - arrival_is_before(a, b);
}

// Stamps of a few queues are a few places from where they belong: one by one, then, as long as
// that pays.
static void sort(struct arrival *arrivals, size_t n)
{
	size_t n_moves = 0;

	for (size_t i = 1; i < n; i++) {
		struct arrival moved = arrivals[i];
		size_t at = i;
		for (; at > 0 && arrival_is_before(&moved, &arrivals[at - 1]); at--)
			arrivals[at] = arrivals[at - 1];
		arrivals[at] = moved;
		n_moves += i - at;
		if (n_moves > MOVES_A_PLACE * n) {
			qsort(arrivals, n, sizeof(*arrivals), compare);
			return;
		}
	}
}

// The earlier ones become what is held. Those that come behind all of it stay where they are.
static int merge(struct arrival_order *order)
{
	size_t n = order->n_held + order->n_came;
	size_t held = 0;
	size_t came = 0;

	if (order->merged == NULL)
		order->merged = malloc(2 * ARRIVAL_REACH * sizeof(*order->merged));
	if (order->merged == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		bool is_held = came == order->n_came ||
			       (held < order->n_held &&
				       !arrival_is_before(&order->came[came], &order->held[held]));
		order->merged[i] = is_held ? order->held[held++] : order->came[came++];
	}
	memcpy(order->held, order->merged, held * sizeof(*order->held));
	memcpy(order->came, order->merged + held, came * sizeof(*order->came));
	return 0;
}

int arrival_order_turn(struct arrival_order *order)
{
	int err = 0;

	if (!order->is_sorted)
		sort(order->came, order->n_came);
	order->is_sorted = true;
	if (order->n_held > 0 && order->n_came > 0 &&
		arrival_is_before(&order->came[0], &order->held[order->n_held - 1]))
		err = merge(order);
	for (size_t i = 0; i < order->n_held; i++)
		order->give(order->context, &order->held[i]);
	struct arrival *held = order->came;
	order->came = order->held;
	order->held = held;
	order->n_held = order->n_came;
	order->n_came = 0;
	return err;
}

int arrival_order_end(struct arrival_order *order)
{
	int err = arrival_order_turn(order);
	int last_err = arrival_order_turn(order);

	return err < 0 ? err : last_err;
}
