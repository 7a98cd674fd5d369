#include "injection_log.h"

#include <string.h>
#include <sys/mman.h>

static size_t size_of(size_t capacity)
{
	return sizeof(struct injection_log) + capacity * sizeof(struct injection_record);
}

struct injection_log *injection_log_create(uint32_t cause, size_t capacity)
{
	// Populated: a page fault of the poller's would be an injection nobody asked for.
	struct injection_log *log = mmap(NULL, size_of(capacity), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (log == MAP_FAILED)
		return NULL;
	log->cause = cause;
	log->capacity = capacity;
	return log;
}

void injection_log_destroy(struct injection_log *log)
{
	if (log != NULL)
		(void)munmap(log, size_of(log->capacity));
}

void injection_log_add(struct injection_log *log, uint64_t start_tsc, uint64_t end_tsc,
	uint32_t thread, uint64_t arg)
{
	size_t at = injection_log_kept(log);

	log->n++;
	if (at >= log->capacity) {
		log->not_logged++;
		return;
	}
	log->records[at] = (struct injection_record){
		.start_tsc = start_tsc,
		.end_tsc = end_tsc,
		.cause = log->cause,
		.thread = thread,
		.arg = arg,
	};
}

uint64_t injection_log_felt(
	const struct injection_log *log, const struct gap_record *gaps, size_t n_gaps)
{
	uint64_t n_felt = 0;
	size_t gap = 0;

	for (size_t i = 0; i < injection_log_kept(log); i++) {
		const struct injection_record *act = &log->records[i];
		while (gap < n_gaps && gaps[gap].end_tsc < act->start_tsc)
			gap++;
		if (gap < n_gaps && gaps[gap].start_tsc <= act->end_tsc)
			n_felt++;
	}
	return n_felt;
}

size_t injection_log_begun(const struct injection_log *log, uint64_t tsc)
{
	size_t n = 0;

	while (n < injection_log_kept(log) && log->records[n].start_tsc <= tsc)
		n++;
	return n;
}

int injection_log_write(const struct injection_log *log, const char *path,
	const struct record_file_header *header, const struct clock_point *last)
{
	struct record_file file;
	int err = record_file_create(&file, path, RECORD_INJECTION, header);

	if (err < 0)
		return err;
	err = record_file_append(&file, log->records, injection_log_kept(log));
	int close_err = record_file_close(&file, last);
	return err < 0 ? err : close_err;
}
