#include "gap_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int gap_log_create(struct gap_log *log, const struct gap_log_config *config)
{
	*log = (struct gap_log){
		.threshold_ticks = config->threshold_ticks,
		.per_packet_ticks = config->per_packet_ticks,
		.thread = config->thread,
		.capacity = config->capacity,
	};
	log->records = malloc(config->capacity * sizeof(*log->records));
	if (log->records == NULL)
		return -ENOMEM;
	// Touched now, so that no page fault comes in the run. Not zero: calloc would not touch.
	memset(log->records, 0xff, config->capacity * sizeof(*log->records));
	return 0;
}

void gap_log_destroy(struct gap_log *log)
{
	free(log->records);
	log->records = NULL;
}

void gap_log_add(struct gap_log *log, uint64_t start_tsc, uint64_t end_tsc, uint32_t n_packets)
{
	uint64_t ticks = end_tsc - start_tsc;
	size_t at = gap_log_kept(log);

	log->n++;
	log->total_ticks += ticks;
	if (ticks > log->max_ticks)
		log->max_ticks = ticks;
	if (at >= log->capacity) {
		log->not_logged++;
		return;
	}
	log->records[at] = (struct gap_record){
		.start_tsc = start_tsc,
		.end_tsc = end_tsc,
		.thread = log->thread,
		.n_packets = n_packets,
	};
}

int gap_log_write(const struct gap_log *log, const char *path,
	const struct record_file_header *header, const struct clock_point *last)
{
	struct record_file file;
	int err = record_file_create(&file, path, RECORD_GAP, header);

	if (err < 0)
		return err;
	err = record_file_append(&file, log->records, gap_log_kept(log));
	int close_err = record_file_close(&file, last);
	return err < 0 ? err : close_err;
}
