#pragma once

// Reads a file, or a pipe, of packets from one end to the other, as records or in blocks, with
// their times in nanoseconds since the epoch: of ticks the integers that records/convert.py makes
// of them.

#include "error.h"
#include "record_format.h"

#include <stddef.h>
#include <stdint.h>

// What a time is that the record does not have.
#define NO_TIME INT64_MIN

struct packet {
	uint64_t seq;
	int64_t due_ns, sent_ns, received_ns; // NO_TIME: never
	int64_t arrival_window_ns;
	uint16_t flags; // enum packet_flag
	uint8_t direction;
};

// So many batches are valid at a time: the last ones that were read.
enum { PACKET_BATCHES = 8 };

struct packet_batch {
	const struct packet *packets;
	size_t n; // 0: no more
};

struct packet_reader;

// path "-": standard input. Returns 0, or -errno with one line in error.
int packet_reader_open(const char *path, struct packet_reader **out, struct error *error);
void packet_reader_close(struct packet_reader *reader);

// The next records in the order of the file. Returns 0, or -errno with one line in error: the file
// is shorter than its header says, or a time is centuries away.
int packet_reader_next(
	struct packet_reader *reader, struct packet_batch *batch, struct error *error);
