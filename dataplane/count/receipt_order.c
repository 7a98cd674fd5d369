#include "receipt_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct receipt_order {
	struct receipt *held, *merged; // in order; held: up to RECEIPT_ORDER_REACH
	struct receipt *came; // up to RECEIPT_ORDER_REACH, as they came
	size_t n_held, n_came;
	bool is_sorted; // what came
	bool is_any_given;
	struct receipt last_given;
	receipt_order_give *give;
	void *context;
};

int receipt_order_create(receipt_order_give *give, void *context, struct receipt_order **out)
{
	struct receipt_order *order = calloc(1, sizeof(*order));

	if (order == NULL)
		return -ENOMEM;
	order->is_sorted = true;
	order->give = give;
	order->context = context;
	order->held = malloc(2 * RECEIPT_ORDER_REACH * sizeof(*order->held));
	order->merged = malloc(2 * RECEIPT_ORDER_REACH * sizeof(*order->merged));
	order->came = malloc(RECEIPT_ORDER_REACH * sizeof(*order->came));
	if (order->held == NULL || order->merged == NULL || order->came == NULL) {
		receipt_order_destroy(order);
		return -ENOMEM;
	}
	*out = order;
	return 0;
}

void receipt_order_destroy(struct receipt_order *order)
{
	if (order == NULL)
		return;
	free(order->held);
	free(order->merged);
	free(order->came);
	free(order);
}

static inline bool is_before(const struct receipt *a, const struct receipt *b)
{
	return a->received_ns < b->received_ns ||
	       (a->received_ns == b->received_ns && a->seq < b->seq);
}

static int compare(const void *a, const void *b)
{
	return is_before(b, a) - is_before(a, b);
}

// Merge what came into what is held, give the first ones and hold the last n_kept.
static int give_all_but(struct receipt_order *order, size_t n_kept)
{
	size_t n = order->n_held + order->n_came;
	size_t held = 0;
	size_t came = 0;
	size_t given = 0;
	int err = 0;

	if (!order->is_sorted)
		qsort(order->came, order->n_came, sizeof(*order->came), compare);
	if (order->is_any_given && order->n_came > 0 &&
		is_before(&order->came[0], &order->last_given))
		return -ERANGE;
	for (size_t i = 0; i < n; i++) {
		bool is_held = came == order->n_came ||
			       (held < order->n_held &&
				       !is_before(&order->came[came], &order->held[held]));
		order->merged[i] = is_held ? order->held[held++] : order->came[came++];
	}
	for (; err == 0 && given + n_kept < n; given++)
		err = order->give(order->context, &order->merged[given]);
	if (given > 0) {
		order->is_any_given = true;
		order->last_given = order->merged[given - 1];
	}
	order->n_held = n - given;
	memcpy(order->held, &order->merged[given], order->n_held * sizeof(*order->held));
	order->n_came = 0;
	order->is_sorted = true;
	return err;
}

int receipt_order_add(struct receipt_order *order, const struct receipt *receipt)
{
	if (order->n_came > 0 && is_before(receipt, &order->came[order->n_came - 1]))
		order->is_sorted = false;
	order->came[order->n_came++] = *receipt;
	if (order->n_came < RECEIPT_ORDER_REACH)
		return 0;
	return give_all_but(order, RECEIPT_ORDER_REACH);
}

int receipt_order_end(struct receipt_order *order)
{
	return give_all_but(order, 0);
}
