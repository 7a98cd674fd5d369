#pragma once

// A generator's packets.bin as it grows, made by hand.

#include "record_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { MADE_HZ = 1000000000 }; // a tick is a nanosecond

struct made_packets {
	char path[64];
	struct record_file file;
	uint64_t first_tsc; // of the header's first reading of the clock
	uint64_t next_seq; // of whatever is sent for the first time
};

static inline void made_packets_open(struct made_packets *made)
{
	const struct record_file_header header = {
		.first = {.tsc = made->first_tsc}, .thread = "generator"};

	assert_int_equal(record_file_create(&made->file, made->path, RECORD_PACKET, &header), 0);
}

static inline void made_packets_name(struct made_packets *made)
{
	*made = (struct made_packets){.path = "/tmp/made_packets.XXXXXX", .file = {.fd = -1}};
	int fd = mkstemp(made->path);
	assert_true(fd >= 0);
	close(fd);
	unlink(made->path);
}

static inline void made_packets_remove(struct made_packets *made)
{
	static const struct clock_point never;

	(void)record_file_close(&made->file, &never);
	unlink(made->path);
}

// received 0: it never came.
static inline void made_packet(
	struct made_packets *made, uint64_t sent, uint64_t received, uint16_t flags)
{
	const struct packet_record record = {
		.seq = made->next_seq++,
		.due_tsc = sent,
		.sent_tsc = sent,
		.received_tsc = received,
		.flags = flags,
	};

	assert_int_equal(record_file_append(&made->file, &record, 1), 0);
}
