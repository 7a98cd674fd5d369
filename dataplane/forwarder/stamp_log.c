#include "stamp_log.h"

#include "clock.h"
#include "probe_format.h"

#include <string.h>

enum { RING_BYTES = (1 << 20) * sizeof(struct stamp_record) }; // 32 MiB

// 2^64 divided by the golden ratio: multiples of it modulo 2^64 lie evenly, whatever period the
// traffic has (bursts, flows, frame sizes). analysis/budget.py chooses with the same one.
static const uint64_t spread_factor = UINT64_C(0x9e3779b97f4a7c15);

int stamp_log_create(struct stamp_log *log, const struct stamp_log_config *config)
{
	const struct record_writer_config writer = {
		.path = config->path,
		.kind = RECORD_STAMP,
		.header = config->header,
		.ring_bytes = RING_BYTES,
		.expected_per_second = 0, // unknown
		.core = config->core,
	};

	*log = (struct stamp_log){.most = config->every > 0 ? UINT64_MAX / config->every : 0};
	return config->path != NULL ? record_writer_create(&writer, &log->writer) : 0;
}

void stamp_log_destroy(struct stamp_log *log)
{
	static const struct clock_point never;

	(void)record_writer_close(log->writer, &never, NULL, NULL);
	log->writer = NULL;
}

int stamp_log_close(struct stamp_log *log, uint64_t epoch_tsc, const struct clock_point *last)
{
	return record_writer_end_log(&log->writer, log->n, epoch_tsc, last, &log->not_kept);
}

// Say which packet of the generator this is. Returns false where it is none, or not chosen.
static inline bool choose(
	const struct stamp_log *log, const struct rte_mbuf *pkt, struct stamp_record *record)
{
	const uint8_t *probe = rte_pktmbuf_mtod_offset(pkt, const uint8_t *, PROBE_OFFSET);
	uint64_t low;
	uint32_t high;

	if (rte_pktmbuf_data_len(pkt) < PROBE_OFFSET + PROBE_ID_LEN)
		return false;
	memcpy(&low, probe, sizeof(low));
	memcpy(&high, probe + sizeof(low), sizeof(high));
	uint64_t id = low >> 48 | (uint64_t)high << 16;
	uint64_t seq = id & ((UINT64_C(1) << PROBE_DIRECTION_BIT) - 1);
	if ((low & UINT16_MAX) != PROBE_MAGIC || seq * spread_factor > log->most)
		return false;
	*record = (struct stamp_record){
		.seq = seq,
		.run_id = (uint32_t)(low >> 16),
		.direction = (uint8_t)(id >> PROBE_DIRECTION_BIT),
	};
	return true;
}

static inline void keep(struct stamp_log *log, const struct stamp_record *record)
{
	struct stamp_record *slot = record_writer_slot(log->writer);

	log->n++;
	if (slot != NULL)
		*slot = *record;
}

static void received(struct stamp_log *log, struct rte_mbuf *const *pkts, uint16_t n,
	uint64_t received_tsc, uint64_t since_tsc)
{
	uint64_t window = received_tsc - since_tsc;
	struct stamp_record record;

	for (uint16_t i = 0; i < n; i++) {
		if (!choose(log, pkts[i], &record))
			continue;
		record.tsc = received_tsc;
		record.window = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX;
		record.event = STAMP_RECEIVED;
		keep(log, &record);
	}
	record_writer_publish(log->writer);
}

void stamp_log_looked(struct stamp_log *log, uint16_t port, struct rte_mbuf *const *pkts,
	uint16_t n, uint16_t most, uint64_t before_tsc)
{
	if (n > 0)
		received(log, pkts, n, clock_tsc(), log->arrivals[port].since_tsc);
	(void)arrivals_polled(&log->arrivals[port], before_tsc, n, most);
}

uint64_t stamp_log_sending(struct stamp_log *log, struct rte_mbuf *const *pkts, uint16_t n)
{
	log->n_noted = 0;
	for (uint16_t i = 0; i < n; i++) {
		struct stamp_noted *noted = &log->noted[log->n_noted];
		if (!choose(log, pkts[i], &noted->record))
			continue;
		noted->at = i;
		log->n_noted++;
	}
	return clock_tsc();
}

void stamp_log_sent(struct stamp_log *log, uint16_t n, uint64_t sent_tsc)
{
	for (uint16_t i = 0; i < log->n_noted && log->noted[i].at < n; i++) {
		struct stamp_record *record = &log->noted[i].record;
		record->tsc = sent_tsc;
		record->event = STAMP_SENT;
		keep(log, record);
	}
	record_writer_publish(log->writer);
}
