#include "gap_log.h"

#include "clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RING_BYTES = (1 << 20) * sizeof(struct gap_record) }; // 24 MiB

// The writer sleeps until the ring would be half full. Gaps do not overlap and each is longer than
// the threshold: at half of the most there can be, the ring is never full when it wakes up.
static double expected_per_second(const struct gap_log_config *config)
{
	return (double)config->header.nominal_tsc_hz / (2 * (double)config->threshold_ticks);
}

static int open_stream(struct gap_log *log, const struct gap_log_config *config)
{
	const struct record_writer_config writer = {
		.path = config->path,
		.kind = RECORD_GAP,
		.header = config->header,
		.ring_bytes = RING_BYTES,
		.expected_per_second = expected_per_second(config),
		.core = config->core,
		.most = config->most,
	};

	return record_writer_create(&writer, &log->writer);
}

static int take_memory(struct gap_log *log, size_t capacity)
{
	log->capacity = capacity;
	log->records = malloc(capacity * sizeof(*log->records));
	if (log->records == NULL && capacity > 0)
		return -ENOMEM;
	// Touched now, so that no page fault comes in the run. Not zero: calloc would not touch.
	if (capacity > 0)
		memset(log->records, 0xff, capacity * sizeof(*log->records));
	return 0;
}

int gap_log_create(struct gap_log *log, const struct gap_log_config *config)
{
	*log = (struct gap_log){
		.threshold_ticks = config->threshold_ticks,
		.per_packet_ticks = config->per_packet_ticks,
		.thread = config->thread,
	};
	return config->path != NULL ? open_stream(log, config) : take_memory(log, config->capacity);
}

void gap_log_destroy(struct gap_log *log)
{
	static const struct clock_point never;

	(void)record_writer_close(log->writer, &never, NULL, NULL);
	log->writer = NULL;
	free(log->records);
	log->records = NULL;
}

static struct gap_record *place_of_next(struct gap_log *log)
{
	size_t at = gap_log_kept(log);

	if (log->writer != NULL)
		return record_writer_slot(log->writer);
	return at < log->capacity ? &log->records[at] : NULL;
}

void gap_log_add(struct gap_log *log, uint64_t start_tsc, uint64_t end_tsc, uint32_t n_packets)
{
	uint64_t ticks = end_tsc - start_tsc;
	struct gap_record *record = place_of_next(log);

	log->n++;
	log->total_ticks += ticks;
	if (ticks > log->max_ticks)
		log->max_ticks = ticks;
	if (record == NULL) {
		log->not_logged++;
		return;
	}
	*record = (struct gap_record){
		.start_tsc = start_tsc,
		.end_tsc = end_tsc,
		.thread = log->thread,
		.n_packets = n_packets,
	};
	if (log->writer != NULL)
		record_writer_publish(log->writer);
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

int gap_log_close(struct gap_log *log, uint64_t epoch_tsc, const struct clock_point *last)
{
	return record_writer_end_log(&log->writer, log->n, epoch_tsc, last, &log->not_logged);
}

void gap_log_print(const struct gap_log *log, struct json *json, uint64_t threshold_ns,
	uint64_t per_packet_ns, uint64_t tsc_hz)
{
	json_u64(json, "n", log->n);
	json_u64(json, "total_ns", clock_ns(log->total_ticks, tsc_hz));
	json_u64(json, "max_ns", clock_ns(log->max_ticks, tsc_hz));
	json_u64(json, "not_logged", log->not_logged);
	json_u64(json, "threshold_ns", threshold_ns);
	json_u64(json, "per_packet_ns", per_packet_ns);
	json_u64(json, "work_packets", log->work_packets);
	json_u64(json, "work_ns", clock_ns(log->work_ticks, tsc_hz));
}
