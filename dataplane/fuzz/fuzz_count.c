// A file of packet records through taut-count: the first byte chooses the clock and how much is
// checked, the rest are records. Either they are refused, or every packet is in each count it
// belongs to, once.

#include "count_stages.h"
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t ns_a_thousand_ticks[] = {1000, 400, 333, 1000000};

static int write_file(const uint8_t *data, size_t len)
{
	const struct record_file_header header = {
		.magic = RECORD_MAGIC,
		.version = RECORD_VERSION,
		.kind = RECORD_PACKET,
		.record_size = sizeof(struct packet_record),
		.epoch_tsc = UINT64_C(1) << 62,
		.first = {.tsc = 1, .mono_raw_ns = 1},
		.last = {.tsc = 1001, .mono_raw_ns = 1 + ns_a_thousand_ticks[data[0] >> 4 & 3]},
	};
	int fd = memfd_create("packets", MFD_CLOEXEC);

	must(fd >= 0, "memory");
	must(write(fd, &header, sizeof(header)) == (ssize_t)sizeof(header), "a header");
	must(write(fd, data + 1, len - 1) == (ssize_t)(len - 1), "records");
	return fd;
}

static int add_up(void *context, const struct value_count *count)
{
	*(uint64_t *)context += count->n;
	return 0;
}

static int add_up_times(void *context, const struct time_count_record *records, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*(uint64_t *)context += records[i].n;
	return 0;
}

static uint64_t n_values(
	const struct packet_counts *counts, enum histogram_series series, uint8_t direction)
{
	uint64_t n = 0;

	for (int i = 0; i < 4; i++) {
		const struct value_counts *values =
			packet_counts_values(counts, series, direction, i & 1, i & 2);
		if (values != NULL)
			must(value_counts_each(values, add_up, &n) == 0, "values are read back");
	}
	return n;
}

// To read all values back takes far longer than to count a few: one input in so many.
enum { CHECK_VALUES = 16 };

static void check_values(const struct packet_counts *counts, uint8_t direction, uint64_t n_matched)
{
	must(n_values(counts, SERIES_SERVICE, direction) == n_matched, "each has its latency");
	must(n_values(counts, SERIES_INTER_ARRIVAL, direction) == n_matched - (n_matched > 0),
		"each but the first has one received before it");
	must(n_values(counts, SERIES_IPDV, direction) == n_values(counts, SERIES_JITTER, direction),
		"pairs are pairs");
}

static void check(struct packet_counts *counts, const uint64_t *n_by_time, bool reads_values)
{
	uint64_t n_warm = 0;

	for (uint8_t i = 0; i < 2; i++) {
		const uint64_t *warm = packet_counts_group(counts, i, false)->packets;
		const uint64_t *cold = packet_counts_group(counts, i, true)->packets;
		uint64_t n_matched = warm[COUNT_MATCHED] + cold[COUNT_MATCHED];
		if (reads_values)
			check_values(counts, i, n_matched);
		n_warm += warm[COUNT_MATCHED];
	}
	must(time_counts_end(packet_counts_by_time(counts)) == 0, "they are given");
	must(n_warm == *n_by_time, "each is in a step of time");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t n_by_time = 0;
	const struct packet_counts_config config = {len % 5 + 1, 3, add_up_times, &n_by_time};
	struct packet_counts *counts;
	struct packet_reader *reader;
	struct error error;
	char path[64];

	if (len < 1)
		return 0;
	int fd = write_file(data, len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(packet_reader_open(path, &reader, &error) == 0, "the file is opened");
	must(packet_counts_create(&config, &counts) == 0, "memory");
	if (count_stages_run(reader, counts, &error) == 0)
		check(counts, &n_by_time, data[0] % CHECK_VALUES == 0);
	packet_counts_destroy(counts);
	packet_reader_close(reader);
	close(fd);
	return 0;
}
