#include "loop.h"

#include "clock.h"

enum {
	N_POLLS = 2000,
	LAST_POLLS = 1024, // of 64 packets: any ring is empty then
};

uint64_t loop_measure_poll(struct loop *loop)
{
	uint64_t least = 0;

	for (uint32_t poll = 0; poll < N_POLLS; poll++) {
		uint64_t start_tsc = clock_tsc();
		uint32_t n = 0;
		for (uint32_t i = 0; i < loop->n_receivers; i++)
			n += receiver_run(&loop->receivers[i], start_tsc);
		uint64_t ticks = clock_tsc() - start_tsc;
		if (n == 0 && (least == 0 || ticks < least))
			least = ticks;
	}
	return least;
}

// A poll begun just before a departure would delay it: wait for it instead. The frame is ready.
static inline uint64_t wait_if_near(const struct loop *loop, uint64_t now_tsc)
{
	uint64_t next_tsc = loop->senders[0].next_tsc;

	if (loop->n_senders > 1 && loop->senders[1].next_tsc < next_tsc)
		next_tsc = loop->senders[1].next_tsc;
	while (now_tsc < next_tsc && next_tsc - now_tsc < loop->near_ticks)
		now_tsc = clock_tsc();
	return now_tsc;
}

static inline enum loop_stop stop_reason(const struct loop *loop, uint64_t now_tsc)
{
	if (__builtin_expect(*loop->n_signals > loop->n_signals_allowed, 0))
		return LOOP_SIGNAL;
	return __builtin_expect(now_tsc >= loop->timeout_tsc, 0) ? LOOP_TIMEOUT : LOOP_RUNS;
}

static inline bool has_write_error(const struct loop *loop)
{
	return loop->writer != NULL && __builtin_expect(record_writer_error(loop->writer) != 0, 0);
}

static inline bool all_sent(const struct loop *loop)
{
	for (uint32_t i = 0; i < loop->n_senders; i++)
		if (loop->senders[i].n_ready > 0 || !loop->senders[i].is_complete)
			return false;
	return true;
}

static inline bool none_in_flight(const struct loop *loop)
{
	for (uint32_t i = 0; i < loop->n_senders; i++)
		if (measurement_n_in_flight(loop->senders[i].measurement) > 0)
			return false;
	return true;
}

static inline uint32_t receive(struct loop *loop, uint64_t before_tsc)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < loop->n_receivers; i++)
		n += receiver_run(&loop->receivers[i], before_tsc);
	return n;
}

// Ends an iteration; returns its end, which is the start of the next.
static inline uint64_t end_iteration(struct loop *loop, uint64_t start_tsc)
{
	if (loop->writer != NULL)
		record_writer_publish(loop->writer);

	uint64_t end_tsc = clock_tsc();
	gap_watch_check(&loop->gaps, end_tsc);
	loop->n_iterations++;
	if (end_tsc - start_tsc < loop->min_ticks)
		loop->min_ticks = end_tsc - start_tsc;
	return end_tsc;
}

enum loop_stop loop_send(struct loop *loop)
{
	enum loop_stop stop = LOOP_RUNS;
	uint64_t start_tsc = clock_tsc();

	loop->min_ticks = UINT64_MAX;
	gap_watch_start(&loop->gaps, RTE_MIN(start_tsc, loop->senders[0].epoch_tsc));
	// A loop that begins behind the run's start is late by a gap.
	gap_watch_check(&loop->gaps, start_tsc);
	while (stop == LOOP_RUNS) {
		uint64_t now_tsc = wait_if_near(loop, start_tsc);
		uint32_t n_sent = 0;
		for (uint32_t i = 0; i < loop->n_senders; i++)
			n_sent += sender_run(&loop->senders[i], now_tsc);
		receive(loop, n_sent > 0 ? clock_tsc() : now_tsc);
		start_tsc = end_iteration(loop, start_tsc);
		stop = all_sent(loop) ? LOOP_COMPLETE : stop_reason(loop, start_tsc);
		if (stop == LOOP_RUNS && has_write_error(loop))
			stop = LOOP_WRITE_ERROR;
	}
	return stop;
}

enum loop_stop loop_drain(struct loop *loop)
{
	enum loop_stop stop = LOOP_RUNS;
	uint64_t start_tsc = clock_tsc();
	uint32_t n_last = 0;

	gap_watch_check(&loop->gaps, start_tsc);
	while (stop == LOOP_RUNS) {
		bool was_over = start_tsc >= loop->timeout_tsc;
		uint32_t n = receive(loop, start_tsc);
		start_tsc = end_iteration(loop, start_tsc);
		stop = none_in_flight(loop) ? LOOP_COMPLETE : stop_reason(loop, start_tsc);
		// What stood in a ring when the time was over waited for this thread alone.
		if (stop == LOOP_TIMEOUT && (n > 0 || !was_over) && n_last++ < LAST_POLLS)
			stop = LOOP_RUNS;
	}
	return stop;
}
