#pragma once

// The injections made, in memory that parent and child share. The acting thread appends, one at a
// time; at its end the poller counts how many it felt.

#include "record_file.h"

#include <stddef.h>
#include <stdint.h>

struct injection_log {
	uint64_t n; // all: those kept and those not
	uint64_t not_logged;
	uint32_t cause;
	size_t capacity;
	struct injection_record records[];
};

// Returns NULL with errno set.
struct injection_log *injection_log_create(uint32_t cause, size_t capacity);
void injection_log_destroy(struct injection_log *log);

// Append an injection made by the thread with this id.
void injection_log_add(struct injection_log *log, uint64_t start_tsc, uint64_t end_tsc,
	uint32_t thread, uint64_t arg);

static inline size_t injection_log_kept(const struct injection_log *log)
{
	return log->n - log->not_logged;
}

// How many of the kept injections overlap one of n gaps. Both are in the order of their times.
uint64_t injection_log_felt(
	const struct injection_log *log, const struct gap_record *gaps, size_t n_gaps);

// How many of the kept injections began until then.
size_t injection_log_begun(const struct injection_log *log, uint64_t tsc);

// Write what was kept as a RECORD_INJECTION file. Returns 0 or -errno.
int injection_log_write(const struct injection_log *log, const char *path,
	const struct record_file_header *header, const struct clock_point *last);
