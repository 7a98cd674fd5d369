#include "late_packets.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CHUNK = 1 << 8, // records a read: well below a piece (pace.h)
	LEARN_ABOVE = 10, // with fewer packets above it a percentile says nothing
	NS_PER_S = 1000000000,
};
// Everything of the first seconds is kept: a fair sample of what interrupts cost on this host.
static const uint64_t learn_ns = UINT64_C(2) * NS_PER_S;
// A generator calls a packet lost within four deadlines of 1 s after it was sent (in_flight_size).
// Where it takes longer, that is seen with the first one.
static const uint64_t hold_ns = UINT64_C(5) * NS_PER_S;

// None of these is a packet that was sent by this run and came for the first time.
static const uint16_t extra_flags =
	PACKET_LATE | PACKET_DUPLICATE | PACKET_ORPHAN | PACKET_AMBIGUOUS | PACKET_TRUNCATED;

// As if no file had been there: what is decided stays so.
static void forget(struct late_packets *late)
{
	const struct late_config *config = late->config;

	if (late->fd >= 0)
		close(late->fd);
	memset(late->latencies, 0, sizeof(*late->latencies));
	windows_drop(&late->windows, late->windows.n);
	*late = (struct late_packets){
		.config = config,
		.fd = -1,
		.chunk = late->chunk,
		.latencies = late->latencies,
		.windows = late->windows,
		.threshold_ticks = clock_ticks(config->fixed_ns, config->tsc_hz),
		.margin_ticks = clock_ticks(config->margin_ns, config->tsc_hz),
		.hold_ticks = clock_ticks(hold_ns, config->tsc_hz),
		.start_tsc = late->start_tsc,
		.decided_tsc = late->decided_tsc,
	};
	if (config->share > 0)
		late->n_learnt = (uint64_t)ceil(LEARN_ABOVE / (1 - config->share));
}

int late_packets_open(
	struct late_packets *late, const struct late_config *config, uint64_t start_tsc)
{
	*late = (struct late_packets){
		.config = config,
		.fd = -1,
		.chunk = malloc(CHUNK * sizeof(*late->chunk)),
		.latencies = histogram_array_create(1),
		.start_tsc = start_tsc,
		.decided_tsc = start_tsc,
	};
	if (late->chunk == NULL || late->latencies == NULL)
		return -ENOMEM;
	forget(late);
	return 0;
}

void late_packets_close(struct late_packets *late)
{
	if (late->config == NULL)
		return;
	if (late->fd >= 0)
		close(late->fd);
	late->fd = -1;
	free(late->chunk);
	histogram_array_destroy(late->latencies, 1);
	windows_destroy(&late->windows);
	late->chunk = NULL;
	late->latencies = NULL;
}

// Whether the file that was read shrank, was replaced, or was begun anew and has grown beyond what
// was read since the last look.
static bool is_of_another_run(const struct late_packets *late, const struct stat *status)
{
	struct record_file_header header;

	if (status->st_ino != late->inode || status->st_dev != late->device ||
		(uint64_t)status->st_size < late->offset)
		return true;
	return pread(late->fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	       header.first.tsc != late->run_tsc;
}

bool late_packets_has_grown(struct late_packets *late)
{
	struct stat status;

	if (stat(late->config->path, &status) < 0)
		return false;
	if (late->fd >= 0 && is_of_another_run(late, &status))
		forget(late);
	late->device = status.st_dev;
	late->inode = status.st_ino;
	uint64_t wanted = late->offset == 0 ? sizeof(struct record_file_header) : late->offset;
	return (uint64_t)status.st_size >= wanted + sizeof(struct packet_record);
}

// The file of a run that ended before the trace began, or of one before the machine was started:
// another run is to write over it.
static bool is_over(const struct late_packets *late, const struct record_file_header *header)
{
	uint64_t now_tsc = clock_tsc();

	if (header->n_records == 0)
		return header->first.tsc > now_tsc;
	return header->last.tsc < late->start_tsc || header->last.tsc > now_tsc;
}

// Returns 0, or -EINVAL: this is no file of packets.
static int open_file(struct late_packets *late, struct error *error)
{
	struct record_file_header header;

	late->fd = open(late->config->path, O_RDONLY | O_CLOEXEC);
	if (late->fd < 0) {
		int err = -errno;
		error_set(error, "--follow %s: %s", late->config->path, strerror(errno));
		return err;
	}
	ssize_t n = pread(late->fd, &header, sizeof(header), 0);
	if (n == (ssize_t)sizeof(header) && memcmp(header.magic, RECORD_MAGIC, 8) == 0 &&
		header.version == RECORD_VERSION && header.kind == RECORD_PACKET &&
		header.record_size == sizeof(struct packet_record)) {
		late->run_tsc = header.first.tsc;
		late->offset = is_over(late, &header) ? (uint64_t)lseek(late->fd, 0, SEEK_END)
						      : sizeof(header);
		return 0;
	}
	error_set(error,
		"--follow %s: no packet records of this version; name the packets.bin of "
		"taut-generate",
		late->config->path);
	return -EINVAL;
}

// percentile_disc as histogram_percentile has it, found from where it was the last time: a look at
// the whole histogram takes a millisecond.
static uint64_t percentile(struct late_packets *late)
{
	const uint64_t *counts = late->latencies->counts;
	double wanted = late->config->share * (double)late->n_all;
	// Up to the bucket and in it. What was not recorded was faster than the percentile.
	uint64_t seen = late->n_all - late->n_above;
	struct histogram_bucket bucket = {0};

	while ((double)seen < wanted)
		seen += counts[++late->at];
	while (late->at > 0 && (double)(seen - counts[late->at]) >= wanted)
		seen -= counts[late->at--];
	late->n_above = late->n_all - seen;
	size_t cursor = late->at;
	(void)histogram_next(late->latencies, &cursor, &bucket);
	return bucket.value;
}

// Sequence numbers tell how many came back where only slow packets are recorded; what was lost has
// its record then, too.
static void count_all(struct late_packets *late, const struct packet_record *packet)
{
	struct seq_span *span = &late->seqs[packet->direction & 1];

	if (span->end == 0 || packet->seq < span->first)
		span->first = packet->seq;
	if (packet->seq >= span->end)
		span->end = packet->seq + 1;
	uint64_t n_sent = 0;
	for (int i = 0; i < 2; i++)
		n_sent += late->seqs[i].end - late->seqs[i].first;
	late->n_all = late->n_packets;
	if (n_sent > late->n_packets + late->n_lost)
		late->n_all = n_sent - late->n_lost;
}

static void count(
	struct late_packets *late, const struct packet_record *packet, uint64_t latency_ticks)
{
	histogram_record(late->latencies, latency_ticks);
	late->n_packets++;
	late->n_above += histogram_index(latency_ticks) > late->at;
	count_all(late, packet);
	if (late->config->share == 0 || late->n_all < late->n_learnt || late->n_all < late->n_next)
		return;
	// Looked up anew when there is one packet more in a hundred.
	late->threshold_ticks = percentile(late);
	late->n_next = late->n_all + late->n_all / 100 + 1;
}

static bool learns(const struct late_packets *late, uint64_t tsc)
{
	uint64_t learn_ticks = clock_ticks(learn_ns, late->config->tsc_hz);

	return late->n_all < late->n_learnt || tsc < late->first_tsc + learn_ticks;
}

static int ask_for(struct late_packets *late, uint64_t from_tsc, uint64_t until_tsc)
{
	from_tsc -= late->margin_ticks;
	until_tsc += late->margin_ticks;
	if (until_tsc < late->start_tsc)
		return 0;
	if (from_tsc < late->decided_tsc) {
		late->n_told_late += late->decided_tsc > late->start_tsc;
		from_tsc = late->decided_tsc;
	}
	return from_tsc <= until_tsc ? windows_add(&late->windows, from_tsc, until_tsc) : 0;
}

static int take_gone(struct late_packets *late, const struct packet_record *packet, bool is_cold)
{
	uint64_t tsc = packet->sent_tsc != 0 ? packet->sent_tsc : packet->due_tsc;

	if (tsc > late->newest_tsc)
		late->newest_tsc = tsc;
	// The generator waits longer for a packet than thought: so do we from here on.
	uint64_t took = late->newest_tsc - tsc;
	if (took > late->hold_ticks)
		late->hold_ticks = took + took / 4;
	if (is_cold)
		return 0;
	late->n_lost++;
	return ask_for(late, tsc, tsc);
}

static int take(struct late_packets *late, const struct packet_record *packet)
{
	bool is_cold = (packet->flags & PACKET_COLD) != 0;

	if ((packet->flags & extra_flags) != 0)
		return 0;
	if (packet->received_tsc == 0)
		return take_gone(late, packet, is_cold);
	if (packet->received_tsc > late->newest_tsc)
		late->newest_tsc = packet->received_tsc;
	if (is_cold)
		return 0;
	if (late->first_tsc == 0)
		late->first_tsc = packet->sent_tsc;
	uint64_t latency_ticks = packet->received_tsc - packet->sent_tsc;
	bool is_kept = learns(late, packet->sent_tsc);
	if (!is_kept && latency_ticks > late->threshold_ticks) {
		late->n_late++;
		is_kept = true;
	}
	count(late, packet, latency_ticks);
	return is_kept ? ask_for(late, packet->sent_tsc, packet->received_tsc) : 0;
}

int late_packets_read(struct late_packets *late, struct error *error)
{
	while (late_packets_has_grown(late)) {
		int err = late->fd < 0 ? open_file(late, error) : 0;
		if (err < 0)
			return err;
		ssize_t n_bytes = pread(
			late->fd, late->chunk, CHUNK * sizeof(*late->chunk), (off_t)late->offset);
		if (n_bytes < 0 && errno != EINTR) {
			err = -errno;
			error_set(error, "--follow %s: %s", late->config->path, strerror(errno));
			return err;
		}
		size_t n = n_bytes < 0 ? 0 : (size_t)n_bytes / sizeof(*late->chunk);
		for (size_t i = 0; err == 0 && i < n; i++) {
			err = take(late, &late->chunk[i]);
			pace_step(late->config->pace);
		}
		if (err < 0) {
			error_set(error, "out of memory");
			return err;
		}
		late->offset += n * sizeof(*late->chunk);
	}
	return 0;
}

uint64_t late_packets_passed(const struct late_packets *late)
{
	uint64_t back = late->hold_ticks + late->margin_ticks;

	return late->newest_tsc > back ? late->newest_tsc - back : 0;
}
