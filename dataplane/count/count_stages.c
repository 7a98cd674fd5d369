#include "count_stages.h"

#include "stages.h"

#include <stdint.h>

// What a stage has done of the batches, and why it ended early.
struct progress {
	uint64_t n;
	int err;
	struct error error;
};

struct count_stages {
	struct packet_reader *reader;
	struct packet_counts *counts;
	struct packet_batch batches[PACKET_BATCHES];
	struct progress read, alone, in_turn;
	bool is_over; // nothing more to read, or no use in it
};

static struct packet_batch *batch_at(struct count_stages *stages, uint64_t i)
{
	return &stages->batches[i % PACKET_BATCHES];
}

static bool can_read(void *context)
{
	const struct count_stages *stages = context;
	uint64_t n_free = stages->alone.n < stages->in_turn.n ? stages->alone.n : stages->in_turn.n;

	return !stages->is_over && stages->read.n - n_free < PACKET_BATCHES;
}

static void read_batch(void *context)
{
	struct count_stages *stages = context;

	stages->read.err = packet_reader_next(
		stages->reader, batch_at(stages, stages->read.n), &stages->read.error);
}

static void hand_over(void *context)
{
	struct count_stages *stages = context;

	if (stages->read.err < 0 || batch_at(stages, stages->read.n)->n == 0)
		stages->is_over = true;
	else
		stages->read.n++;
}

static bool is_left(const struct count_stages *stages, const struct progress *progress)
{
	return progress->err == 0 && progress->n < stages->read.n;
}

static void end_piece(struct count_stages *stages, struct progress *progress)
{
	progress->n++;
	stages->is_over |= progress->err < 0;
}

static bool can_count_alone(void *context)
{
	const struct count_stages *stages = context;

	return is_left(stages, &stages->alone);
}

static void count_alone(void *context)
{
	struct count_stages *stages = context;

	stages->alone.err = packet_counts_add(
		stages->counts, batch_at(stages, stages->alone.n), &stages->alone.error);
}

static void end_alone(void *context)
{
	struct count_stages *stages = context;

	end_piece(stages, &stages->alone);
}

static bool can_count_in_turn(void *context)
{
	const struct count_stages *stages = context;

	return is_left(stages, &stages->in_turn);
}

static void count_in_turn(void *context)
{
	struct count_stages *stages = context;

	stages->in_turn.err = packet_counts_add_in_turn(
		stages->counts, batch_at(stages, stages->in_turn.n), &stages->in_turn.error);
}

static void end_in_turn(void *context)
{
	struct count_stages *stages = context;

	end_piece(stages, &stages->in_turn);
}

int count_stages_run(
	struct packet_reader *reader, struct packet_counts *counts, struct error *error)
{
	struct count_stages stages = {.reader = reader, .counts = counts};
	// What is nearest to the end first: it makes room for the others.
	const struct stage list[] = {
		{can_count_in_turn, count_in_turn, end_in_turn, &stages},
		{can_count_alone, count_alone, end_alone, &stages},
		{can_read, read_batch, hand_over, &stages},
	};
	const size_t n_stages = sizeof(list) / sizeof(list[0]);
	// What a packet is refused for comes before what follows from it.
	const struct progress *const ends[] = {&stages.alone, &stages.in_turn, &stages.read};

	stages_run(list, n_stages, stages_threads(n_stages));
	for (size_t i = 0; i < n_stages; i++) {
		if (ends[i]->err < 0) {
			*error = ends[i]->error;
			return ends[i]->err;
		}
	}
	return packet_counts_end(counts, error);
}
