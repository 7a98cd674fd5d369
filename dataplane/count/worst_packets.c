#include "worst_packets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct kept {
	int64_t latency_ns;
	struct packet packet;
};

// A heap: each is faster than the two below it, so the first is the one to go.
struct worst_packets {
	size_t n_wanted, n;
	struct kept *kept;
	struct packet *packets;
};

int worst_packets_create(size_t n, struct worst_packets **out)
{
	struct worst_packets *worst = calloc(1, sizeof(*worst));

	if (worst == NULL)
		return -ENOMEM;
	worst->n_wanted = n;
	worst->kept = calloc(n + 1, sizeof(*worst->kept));
	worst->packets = calloc(n + 1, sizeof(*worst->packets));
	if (worst->kept == NULL || worst->packets == NULL) {
		worst_packets_destroy(worst);
		return -ENOMEM;
	}
	*out = worst;
	return 0;
}

void worst_packets_destroy(struct worst_packets *worst)
{
	if (worst == NULL)
		return;
	free(worst->kept);
	free(worst->packets);
	free(worst);
}

static bool is_faster(const struct kept *a, const struct kept *b)
{
	if (a->latency_ns != b->latency_ns)
		return a->latency_ns < b->latency_ns;
	if (a->packet.seq != b->packet.seq)
		return a->packet.seq > b->packet.seq;
	return a->packet.direction > b->packet.direction;
}

static void swap(struct kept *a, struct kept *b)
{
	struct kept kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_down(struct worst_packets *worst, size_t at)
{
	while (2 * at + 1 < worst->n) {
		size_t below = 2 * at + 1;
		if (below + 1 < worst->n && is_faster(&worst->kept[below + 1], &worst->kept[below]))
			below++;
		if (!is_faster(&worst->kept[below], &worst->kept[at]))
			return;
		swap(&worst->kept[below], &worst->kept[at]);
		at = below;
	}
}

static void sift_up(struct worst_packets *worst, size_t at)
{
	while (at > 0 && is_faster(&worst->kept[at], &worst->kept[(at - 1) / 2])) {
		swap(&worst->kept[at], &worst->kept[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

void worst_packets_add(struct worst_packets *worst, int64_t latency_ns, const struct packet *packet)
{
	if (worst->n == worst->n_wanted &&
		(worst->n == 0 || latency_ns < worst->kept[0].latency_ns))
		return;
	struct kept kept = {latency_ns, *packet};
	if (worst->n < worst->n_wanted) {
		worst->kept[worst->n] = kept;
		sift_up(worst, worst->n++);
	} else if (is_faster(&worst->kept[0], &kept)) {
		worst->kept[0] = kept;
		sift_down(worst, 0);
	}
}

size_t worst_packets_end(struct worst_packets *worst, const struct packet **packets)
{
	size_t n = worst->n;

	while (worst->n > 0) {
		worst->n--;
		worst->packets[worst->n] = worst->kept[0].packet;
		worst->kept[0] = worst->kept[worst->n];
		sift_down(worst, 0);
	}
	*packets = worst->packets;
	return n;
}
