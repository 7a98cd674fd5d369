#pragma once

// What the tests of measurement share: one direction with one ring and two flows, and its file.

#include "measurement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { CAPACITY = 16, QUANTUM = 100, N_SPANS = 1024, DEADLINE = 1000000 };

static char path[] = "/tmp/measurement_test.XXXXXX";
static struct gap_watch gaps;
static struct record_writer *writer;
static size_t ring_bytes = 1 << 20;

static inline void open_gaps(uint64_t now_tsc)
{
	const struct gap_log_config config = {.threshold_ticks = 50, .per_packet_ticks = 10};

	assert_int_equal(gap_watch_create(&gaps, &config, N_SPANS), 0);
	gap_watch_start(&gaps, now_tsc);
}

// Each test gets a direction with one ring of 16 and two flows.
static inline struct measurement *start_before_it_begins(
	enum record_mode mode, uint64_t tail_one_in, bool tail_is_slow_only)
{
	struct measurement *m = aligned_alloc(64, sizeof(*m));
	struct record_writer_config file = {
		.path = path, .kind = RECORD_PACKET, .ring_bytes = ring_bytes, .core = -1};
	struct measurement_config config = {
		.n_flows = 2,
		.in_flight = {.capacity = CAPACITY, .is_slow = true},
		.has_warm_up = true,
		.quantum_ticks = QUANTUM,
		.deadline_ticks = DEADLINE,
		.mode = mode,
		.tail_one_in = tail_one_in,
		.tail_is_slow_only = tail_is_slow_only,
		.gaps = &gaps,
	};

	open_gaps(1);
	assert_int_equal(record_writer_create(&file, &writer), 0);
	config.writer = writer;
	assert_int_equal(measurement_init(m, &config), 0);
	return m;
}

static inline struct measurement *start_with(
	enum record_mode mode, uint64_t tail_one_in, bool tail_is_slow_only)
{
	struct measurement *m = start_before_it_begins(mode, tail_one_in, tail_is_slow_only);

	measurement_begin(m);
	return m;
}

static inline struct measurement *start(enum record_mode mode)
{
	return start_with(mode, 0, false);
}

// Ends the run; returns the number of records, the first of which are copied to records.
static inline size_t finish(struct measurement *m, struct packet_record *records, size_t max)
{
	static const struct clock_point never;
	uint64_t n_written;

	measurement_finish(m, UINT64_MAX);
	assert_true(counters_reconcile(&m->counters));
	assert_int_equal(measurement_n_in_flight(m), 0);
	assert_int_equal(record_writer_close(writer, &never, &n_written, NULL), 0);
	FILE *file = fopen(path, "rb");
	assert_int_equal(fseek(file, sizeof(struct record_file_header), SEEK_SET), 0);
	assert_int_equal(
		fread(records, sizeof(*records), max, file), n_written < max ? n_written : max);
	fclose(file);
	measurement_fini(m);
	gap_watch_destroy(&gaps);
	free(m);
	return n_written;
}

// Packets are due every 1000 ticks, sent 10 later.
static inline uint64_t due_of(uint64_t seq)
{
	return 1000000 + seq * 1000;
}

static inline void send(struct measurement *m, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t seq = m->in_flight.next_seq;
		measurement_sent(m, &(struct sent_packet){
					    .due_tsc = due_of(seq),
					    .sent_tsc = due_of(seq) + 10,
					    .flow = (uint32_t)(seq % 2),
					    .frame_len = 64,
				    });
	}
}

static inline void receive(struct measurement *m, uint64_t seq, uint64_t latency)
{
	measurement_received(m, &(struct received_packet){
					.seq = seq,
					.due_tsc = due_of(seq),
					.received_tsc = due_of(seq) + 10 + latency,
					.arrival_window = 5,
					.flow = (uint32_t)(seq % 2),
					.frame_len = 64,
					.is_ours = true,
				});
}

static inline uint64_t count(
	const struct measurement *m, enum histogram_series series, uint64_t value)
{
	return m->histograms[0][0][series].counts[histogram_index(value)];
}

// The loop stood still from one time to the other.
static inline void gap(uint64_t from, uint64_t until)
{
	gaps.checkpoint_tsc = from;
	gap_watch_check(&gaps, until);
}

static inline int make_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static inline int remove_file(void **state)
{
	return unlink(path);
}
