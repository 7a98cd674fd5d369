// Holds each packet a known time: the calibration standard of the whole instrument. What is
// measured with a delay, less what is measured with none, must be the delay (docs/measuring.md).

#include "clock.h"
#include "nf.h"

#include <rte_branch_prediction.h>
#include <rte_malloc.h>

#include <errno.h>

enum {
	// A packet due sooner than a poll of an empty port takes is waited for, so that it leaves
	// some 10 ns late rather than up to one iteration.
	SPIN_NS = 150,
};

struct delay_options {
	uint64_t time_ns, capacity;
};

static const struct option_spec delay_options[] = {
	{
		.name = "time",
		.type = OPTION_DURATION,
		.offset = offsetof(struct delay_options, time_ns),
		.default_text = "50us",
		.help = "how long to hold each packet, from when the receive call returned it",
		.max = 1000000000,
	},
	{
		.name = "capacity",
		.type = OPTION_UINT,
		.offset = offsetof(struct delay_options, capacity),
		.default_text = "0",
		.help = "packets held at most, the rest is dropped; 0: what the receive pool "
			"allows",
	},
};

struct held {
	struct rte_mbuf *pkt;
	uint64_t due_tsc;
};

struct delay {
	uint64_t time_ticks, spin_ticks;
	uint64_t n_dropped;
	uint32_t head, tail, mask; // head: oldest; tail - head packets are held
	uint32_t capacity;
	struct held *ring;
};

// What it may hold. Returns 0 or -EINVAL with one line in error.
static int choose_capacity(const struct delay_options *wanted, const struct nf_env *env,
	uint64_t *capacity, struct error *error)
{
	*capacity = wanted->capacity > 0 ? wanted->capacity : env->hold_max;
	if (*capacity > 0 && *capacity <= env->hold_max)
		return 0;
	error_set(error,
		"delay: capacity %lu wanted, the receive pool can spare %u; change it, or --hold",
		(unsigned long)*capacity, env->hold_max);
	return -EINVAL;
}

// A power of two that the capacity fits in: indices wrap by a mask.
static uint32_t n_places(uint64_t capacity)
{
	return rte_align32pow2((uint32_t)capacity);
}

static int delay_memory(
	const void *options, const struct nf_env *env, uint64_t *bytes, struct error *error)
{
	uint64_t capacity;
	int err = choose_capacity(options, env, &capacity, error);

	if (err == 0)
		*bytes += n_places(capacity) * sizeof(struct held);
	return err;
}

static int delay_init(
	void *state, const void *options, const struct nf_env *env, struct error *error)
{
	const struct delay_options *wanted = options;
	struct delay *delay = state;
	uint64_t capacity;
	int err = choose_capacity(wanted, env, &capacity, error);

	if (err < 0)
		return err;
	delay->time_ticks = clock_ticks(wanted->time_ns, env->tsc_hz);
	delay->spin_ticks = clock_ticks(SPIN_NS, env->tsc_hz);
	delay->capacity = (uint32_t)capacity;
	delay->mask = n_places(capacity) - 1;
	delay->ring = rte_zmalloc(
		"delay", n_places(capacity) * sizeof(*delay->ring), RTE_CACHE_LINE_SIZE);
	if (delay->ring == NULL) {
		error_set(error, "delay: no memory for %lu packets; lower capacity",
			(unsigned long)capacity);
		return -ENOMEM;
	}
	return 0;
}

static uint16_t delay_process(void *state, struct rte_mbuf **pkts, uint16_t n, uint64_t now_tsc)
{
	struct delay *delay = state;

	for (uint16_t i = 0; i < n; i++) {
		if (unlikely(delay->tail - delay->head >= delay->capacity)) {
			delay->n_dropped++;
			rte_pktmbuf_free(pkts[i]);
			continue;
		}
		struct held *held = &delay->ring[delay->tail++ & delay->mask];
		held->pkt = pkts[i];
		held->due_tsc = now_tsc + delay->time_ticks;
	}
	return 0;
}

static uint16_t delay_release(void *state, struct rte_mbuf **out, uint16_t max, uint64_t now_tsc)
{
	struct delay *delay = state;
	uint16_t n = 0;

	if (delay->head == delay->tail)
		return 0;
	uint64_t due_tsc = delay->ring[delay->head & delay->mask].due_tsc;
	if (due_tsc > now_tsc && due_tsc - now_tsc <= delay->spin_ticks)
		while ((now_tsc = clock_tsc()) < due_tsc)
			;
	while (n < max && delay->head != delay->tail) {
		const struct held *held = &delay->ring[delay->head & delay->mask];
		if (held->due_tsc > now_tsc)
			break;
		out[n++] = held->pkt;
		delay->head++;
	}
	return n;
}

static uint64_t delay_n_dropped(const void *state)
{
	const struct delay *delay = state;

	return delay->n_dropped;
}

static void delay_fini(void *state)
{
	struct delay *delay = state;

	for (; delay->head != delay->tail; delay->head++)
		rte_pktmbuf_free(delay->ring[delay->head & delay->mask].pkt);
	rte_free(delay->ring);
}

const struct nf_ops nf_delay = {
	.name = "delay",
	.summary = "hold each packet a known time: the calibration standard",
	.options = delay_options,
	.n_options = RTE_DIM(delay_options),
	.options_size = sizeof(struct delay_options),
	.state_size = sizeof(struct delay),
	.memory = delay_memory,
	.init = delay_init,
	.process = delay_process,
	.release = delay_release,
	.n_dropped = delay_n_dropped,
	.fini = delay_fini,
};
