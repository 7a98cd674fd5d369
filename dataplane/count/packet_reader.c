#include "packet_reader.h"

#include "record_file.h"

#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_BATCH = 1024 };

// As records/clock.py has them: every clock there is, and no other.
static const double least_ns_per_tick = 1e-3, most_ns_per_tick = 1e6;
static const uint64_t exact_in_double = UINT64_C(1) << 53;

struct packet_reader {
	int fd;
	const char *path;
	struct record_file_header header;
	double ns_per_tick;
	uint64_t n_left; // records, by the header; UINT64_MAX: all there are
	size_t at; // of the block: what was given of it
	union {
		struct packet_record records[N_BATCH];
		struct packet_block block;
	};
	struct packet packets[PACKET_BATCHES][N_BATCH];
	size_t next; // of packets: where the next batch goes
};

// Fill the buffer as far as the file goes. Returns how many bytes there are, or -errno.
static ssize_t read_full(int fd, void *data, size_t len)
{
	size_t n_read = 0;

	while (n_read < len) {
		ssize_t n = read(fd, (char *)data + n_read, len - n_read);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		n_read += (size_t)n;
	}
	return (ssize_t)n_read;
}

// The rate of fit_of in records/clock.py. Two integers beyond 2^53 would not be divided exactly:
// such a header is refused.
static int fit(struct packet_reader *reader, struct error *error)
{
	const struct record_file_header *header = &reader->header;
	uint64_t ticks = header->last.tsc - header->first.tsc;
	uint64_t elapsed_ns = header->last.mono_raw_ns - header->first.mono_raw_ns;
	uint64_t nominal_hz = header->nominal_tsc_hz > 0 ? header->nominal_tsc_hz : 1;

	if (header->last.tsc > header->first.tsc &&
		header->last.mono_raw_ns > header->first.mono_raw_ns) {
		reader->ns_per_tick = (double)elapsed_ns / (double)ticks;
		if (ticks >= exact_in_double || elapsed_ns >= exact_in_double)
			reader->ns_per_tick = 0;
	} else {
		reader->ns_per_tick = 1e9 / (double)nominal_hz;
	}
	if (reader->ns_per_tick >= least_ns_per_tick && reader->ns_per_tick <= most_ns_per_tick)
		return 0;
	error_set(error, "%s: a clock that ran at no rate there is; the file is damaged",
		reader->path);
	return -EINVAL;
}

static int read_header(struct packet_reader *reader, struct error *error)
{
	struct record_file_header *header = &reader->header;
	ssize_t n = read_full(reader->fd, header, sizeof(*header));

	if (n < 0) {
		error_set(error, "%s: %s", reader->path, strerror((int)-n));
		return (int)n;
	}
	if (n != (ssize_t)sizeof(*header) || memcmp(header->magic, RECORD_MAGIC, 8) != 0 ||
		header->version != RECORD_VERSION ||
		(header->kind != RECORD_PACKET && header->kind != RECORD_PACKET_BLOCK) ||
		header->record_size != record_size_of(header->kind)) {
		error_set(error,
			"%s: no packet records of this version; name the packets.bin of "
			"taut-generate or taut-match",
			reader->path);
		return -EINVAL;
	}
	reader->n_left = header->n_records > 0 ? header->n_records : UINT64_MAX;
	return fit(reader, error);
}

int packet_reader_open(const char *path, struct packet_reader **out, struct error *error)
{
	struct packet_reader *reader = calloc(1, sizeof(*reader));
	bool is_stdin = strcmp(path, "-") == 0;

	if (reader == NULL) {
		error_set(error, "out of memory");
		return -ENOMEM;
	}
	reader->path = is_stdin ? "standard input" : path;
	reader->fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int err = reader->fd < 0 ? -errno : 0;
	if (err < 0)
		error_set(error, "%s: %s", reader->path, strerror(-err));
	else
		err = read_header(reader, error);
	if (err < 0)
		packet_reader_close(reader);
	else
		*out = reader;
	return err;
}

void packet_reader_close(struct packet_reader *reader)
{
	if (reader == NULL)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
}

// Round to the nearest, halves to even, as numpy.rint does: the same product of two doubles. What
// 64 bits cannot hold becomes INT64_MIN, which is NO_TIME.
static inline int64_t span_ns(const struct packet_reader *reader, int64_t ticks)
{
	if (reader->ns_per_tick == 1)
		return ticks;
	return _mm_cvtsd_si64(_mm_set_sd((double)ticks * reader->ns_per_tick));
}

// The difference modulo 2^64 read as signed is right on both sides of the epoch.
static inline int64_t time_ns(const struct packet_reader *reader, uint64_t tsc, bool *is_damaged)
{
	if (tsc == 0)
		return NO_TIME;
	int64_t ns = span_ns(reader, (int64_t)(tsc - reader->header.epoch_tsc));
	*is_damaged |= ns == NO_TIME;
	return ns;
}

static bool convert(struct packet_reader *reader, struct packet *packets, size_t n)
{
	bool is_damaged = false;

	for (size_t i = 0; i < n; i++) {
		const struct packet_record *record = &reader->records[i];
		packets[i] = (struct packet){
			.seq = record->seq,
			.due_ns = time_ns(reader, record->due_tsc, &is_damaged),
			.sent_ns = time_ns(reader, record->sent_tsc, &is_damaged),
			.received_ns = time_ns(reader, record->received_tsc, &is_damaged),
			.arrival_window_ns = span_ns(reader, record->arrival_window),
			.flags = record->flags,
			.direction = record->direction,
		};
	}
	return !is_damaged;
}

// Read up to n records. Returns how many there were, or -errno with one line in error.
static ssize_t read_records(
	struct packet_reader *reader, void *records, size_t n, struct error *error)
{
	size_t wanted = reader->n_left < n ? (size_t)reader->n_left : n;
	ssize_t n_bytes = read_full(reader->fd, records, wanted * reader->header.record_size);

	if (n_bytes < 0) {
		error_set(error, "%s: %s", reader->path, strerror((int)-n_bytes));
		return n_bytes;
	}
	n = (size_t)n_bytes / reader->header.record_size;
	if (reader->n_left != UINT64_MAX) {
		reader->n_left -= n;
		if (n < wanted) {
			error_set(error, "%s: the file is cut short", reader->path);
			return -EINVAL;
		}
	}
	return (ssize_t)n;
}

static ssize_t next_records(
	struct packet_reader *reader, struct packet *packets, struct error *error)
{
	ssize_t n = read_records(reader, reader->records, N_BATCH, error);

	if (n > 0 && !convert(reader, packets, (size_t)n)) {
		error_set(error,
			"%s: a time centuries away from the run's start; the file is damaged",
			reader->path);
		return -ERANGE;
	}
	return n;
}

// Returns 1 or, at the end, 0; or -errno with one line in error.
static ssize_t next_block(struct packet_reader *reader, struct error *error)
{
	ssize_t n = read_records(reader, &reader->block, 1, error);

	if (n == 1 && (reader->block.n == 0 || reader->block.n > PACKET_BLOCK_SIZE)) {
		error_set(error, "%s: a block of no number of packets; the file is damaged",
			reader->path);
		return -EINVAL;
	}
	if (n == 0)
		reader->block.n = 0;
	reader->at = 0;
	return n;
}

static ssize_t next_of_block(
	struct packet_reader *reader, struct packet *packets, struct error *error)
{
	const struct packet_block *block = &reader->block;
	ssize_t n_blocks = reader->at < block->n ? 1 : next_block(reader, error);

	if (n_blocks <= 0)
		return n_blocks;
	size_t n = block->n - reader->at < N_BATCH ? block->n - reader->at : N_BATCH;
	for (size_t i = 0; i < n; i++) {
		size_t at = reader->at + i;
		packets[i] = (struct packet){
			.seq = block->seq[at],
			.due_ns = block->due_ns[at],
			.sent_ns = block->sent_ns[at],
			.received_ns = block->received_ns[at],
			.arrival_window_ns = block->arrival_window_ns[at],
			.flags = block->flags[at],
			.direction = block->direction[at],
		};
	}
	reader->at += n;
	return (ssize_t)n;
}

int packet_reader_next(
	struct packet_reader *reader, struct packet_batch *batch, struct error *error)
{
	struct packet *packets = reader->packets[reader->next];
	ssize_t n = reader->header.kind == RECORD_PACKET ? next_records(reader, packets, error)
							 : next_of_block(reader, packets, error);

	if (n < 0)
		return (int)n;
	*batch = (struct packet_batch){packets, (size_t)n};
	reader->next = (reader->next + 1) % PACKET_BATCHES;
	return 0;
}
