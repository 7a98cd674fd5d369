// pcap: a file header of 24 bytes, then records, each a header and the frame's bytes.
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html

#include "capture_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	FILE_HEADER_BYTES = 24,
	RECORD_HEADER_BYTES = 16,
	// Kuznetzov's libpcap adds interface, protocol and direction to the record header.
	MODIFIED_RECORD_HEADER_BYTES = 24,
	MAX_EXCESS_BYTES = 64, // of what is in the file over what was on the wire
	NEAR_S = 3600,
	N_IN_A_ROW = 3, // plausible records that end the search after damage
};

static const uint32_t MAGIC_US = 0xa1b2c3d4;
static const uint32_t MAGIC_NS = 0xa1b23c4d;
static const uint32_t MAGIC_MODIFIED = 0xa1b2cd34;

struct pcap {
	bool is_swapped;
	uint32_t header_len; // of a record
	uint32_t fraction_limit, fraction_ns; // fractions of a second in one, ns of one
	uint32_t snaplen;
	uint32_t max_len;
	uint32_t fcs_len; // at the end of every frame
	bool has_last;
	uint32_t last_s; // of the last record given
};

struct record {
	uint32_t s, fraction, cap_len, wire_len;
};

static inline struct record load_record(const uint8_t *at, bool is_swapped)
{
	return (struct record){load_u32(at, is_swapped), load_u32(at + 4, is_swapped),
		load_u32(at + 8, is_swapped), load_u32(at + 12, is_swapped)};
}

// What almost all records are, and no damaged length is: whole, or snapped at the snap length.
static inline bool is_ordinary(const struct pcap *pcap, const struct record *record)
{
	return record->cap_len - 1 < pcap->max_len && record->fraction < pcap->fraction_limit &&
	       (record->cap_len == record->wire_len ||
		       (record->cap_len == pcap->snaplen && record->cap_len < record->wire_len &&
			       record->wire_len <= CAPTURE_MAX_LEN));
}

// What a record of a valid file may be. Some tools write more bytes than they say were on the wire
// (a checksum, a trailer); none writes a frame above the snap length or 256 KiB. Four zeros are a
// hole in the file.
static bool is_possible(const struct pcap *pcap, const struct record *record)
{
	return record->cap_len <= pcap->max_len && record->fraction < pcap->fraction_limit &&
	       record->wire_len <= CAPTURE_MAX_LEN &&
	       record->cap_len <= record->wire_len + MAX_EXCESS_BYTES &&
	       (record->s | record->fraction | record->cap_len | record->wire_len) != 0;
}

// Stricter: what bytes that are no record header hardly look like.
static bool is_plausible(const struct pcap *pcap, const struct record *record)
{
	return record->fraction < pcap->fraction_limit && record->cap_len > 0 &&
	       record->cap_len <= record->wire_len && record->wire_len <= pcap->max_len;
}

static bool is_near(uint32_t a_s, uint32_t b_s)
{
	return llabs((long long)a_s - (long long)b_s) <= NEAR_S;
}

// A record whose length is possible but odd (snapped at another length than the file's) is sound
// if what stands behind it is a record: one of about the same time, or two of any.
static struct judgement vouch(const struct pcap *pcap, const struct byte_source *source,
	const uint8_t *at, const struct record *odd)
{
	const uint8_t *next = at + pcap->header_len + odd->cap_len;
	bool is_end = source->state != BYTE_SOURCE_OPEN;

	for (int i = 0; i < 2; i++) {
		size_t left = (size_t)(source->end - next);
		if (left < pcap->header_len && is_end)
			return (struct judgement){.verdict = RECORD_SOUND};
		if (left < pcap->header_len)
			return (struct judgement){
				.verdict = RECORD_TOO_SHORT, .want = next - at + pcap->header_len};

		struct record follower = load_record(next, pcap->is_swapped);
		if (i == 0 && is_possible(pcap, &follower) && follower.wire_len > 0 &&
			is_near(follower.s, odd->s))
			return (struct judgement){.verdict = RECORD_SOUND};
		if (!is_plausible(pcap, &follower))
			return (struct judgement){.verdict = RECORD_BROKEN};
		left -= pcap->header_len;
		if (left < follower.cap_len && is_end)
			return (struct judgement){.verdict = RECORD_SOUND};
		if (left < follower.cap_len)
			return (struct judgement){.verdict = RECORD_TOO_SHORT,
				.want = next - at + pcap->header_len + follower.cap_len};
		next += pcap->header_len + follower.cap_len;
	}
	return (struct judgement){.verdict = RECORD_SOUND};
}

static struct judgement pcap_judge(const struct capture *capture, const uint8_t *at)
{
	const struct pcap *pcap = capture->state;
	size_t left = (size_t)(capture->source->end - at);
	bool is_end = capture->source->state != BYTE_SOURCE_OPEN;

	if (left < pcap->header_len)
		return (struct judgement){
			is_end ? RECORD_ENDS_EARLY : RECORD_TOO_SHORT, pcap->header_len, false};

	struct record record = load_record(at, pcap->is_swapped);
	if (!is_possible(pcap, &record))
		return (struct judgement){.verdict = RECORD_BROKEN};
	if (left - pcap->header_len < record.cap_len)
		return (struct judgement){is_end ? RECORD_ENDS_EARLY : RECORD_TOO_SHORT,
			pcap->header_len + record.cap_len, !is_ordinary(pcap, &record)};
	if (is_ordinary(pcap, &record))
		return (struct judgement){.verdict = RECORD_SOUND};
	return vouch(pcap, capture->source, at, &record);
}

// Byte order is a constant of each of its two callers.
static inline __attribute__((always_inline)) size_t walk_in_order(
	struct capture *capture, struct capture_frame *frames, size_t max, const bool is_swapped)
{
	struct pcap *pcap = capture->state;
	struct byte_source *source = capture->source;
	const uint8_t *at = source->next;
	const uint8_t *const end = source->end;
	const uint32_t header_len = pcap->header_len;
	const uint32_t fcs_len = pcap->fcs_len;
	size_t n = 0;

	while (n < max && (size_t)(end - at) >= header_len) {
		struct record record = load_record(at, is_swapped);
		if (__builtin_expect(!is_ordinary(pcap, &record), 0) &&
			pcap_judge(capture, at).verdict != RECORD_SOUND)
			break;
		if ((size_t)(end - at) - header_len < record.cap_len)
			break;
		struct capture_frame frame = {
			.data = at + header_len,
			.ts_ns = (int64_t)record.s * 1000000000 +
				 (int64_t)record.fraction * pcap->fraction_ns,
			.cap_len = record.cap_len,
			.wire_len = record.wire_len,
		};
		capture_strip_fcs(&frame, fcs_len);
		capture_give(capture, &frame, at, &frames[n++]);
		pcap->last_s = record.s;
		at += header_len + record.cap_len;
	}
	source->next = at;
	pcap->has_last |= n > 0;
	return n;
}

static size_t pcap_walk(struct capture *capture, struct capture_frame *frames, size_t max)
{
	const struct pcap *pcap = capture->state;

	return pcap->is_swapped ? walk_in_order(capture, frames, max, true)
				: walk_in_order(capture, frames, max, false);
}

// Whether several plausible records in a row stand here, each of about the time of the one before;
// fewer do if the file ends with or in the last.
static struct judgement pcap_judge_restart(const struct capture *capture, const uint8_t *at)
{
	const struct pcap *pcap = capture->state;
	const struct byte_source *source = capture->source;
	const uint8_t *next = at;
	bool is_end = source->state != BYTE_SOURCE_OPEN;
	bool has_last = pcap->has_last;
	uint32_t last_s = pcap->last_s;

	for (int i = 0; i < N_IN_A_ROW; i++) {
		size_t left = (size_t)(source->end - next);
		size_t want = pcap->header_len;
		if (left >= want) {
			struct record record = load_record(next, pcap->is_swapped);
			if (!is_plausible(pcap, &record) ||
				(has_last && !is_near(record.s, last_s)))
				return (struct judgement){.verdict = RECORD_BROKEN};
			has_last = true;
			last_s = record.s;
			want += record.cap_len;
		}
		if (left < want && is_end)
			return (struct judgement){.verdict = i > 0 ? RECORD_SOUND : RECORD_BROKEN};
		if (left < want)
			return (struct judgement){
				.verdict = RECORD_TOO_SHORT, .want = next - at + want};
		next += want;
	}
	return (struct judgement){.verdict = RECORD_SOUND};
}

static void pcap_note_broken(struct capture *capture, size_t n_passed)
{
	const struct pcap *pcap = capture->state;
	const uint8_t *at = capture->source->next;
	uint64_t offset = byte_source_offset(capture->source, at);
	struct record record = load_record(at, pcap->is_swapped);
	bool is_wire_bad = record.cap_len <= pcap->max_len && record.wire_len > CAPTURE_MAX_LEN;

	if (record.fraction >= pcap->fraction_limit)
		capture_note(capture, CAPTURE_BAD_TIME, offset, record.fraction);
	else
		capture_note(capture, CAPTURE_BAD_LENGTH, offset,
			is_wire_bad ? record.wire_len : record.cap_len);
}

bool pcap_recognises(uint32_t magic)
{
	uint32_t swapped = __builtin_bswap32(magic);

	return magic == MAGIC_US || magic == MAGIC_NS || magic == MAGIC_MODIFIED ||
	       swapped == MAGIC_US || swapped == MAGIC_NS || swapped == MAGIC_MODIFIED;
}

static int check_header(const uint8_t *header, bool is_swapped, struct error *error)
{
	uint16_t major = load_u16(header + 4, is_swapped);
	// The upper bits are about the frame check sequence.
	uint32_t link_type = load_u32(header + 20, is_swapped) & 0xffff;

	if (major != 2) {
		error_set(error, "is pcap version %u, not 2; rewrite it with editcap -F nsecpcap",
			major);
		return -EINVAL;
	}
	if (link_type != CAPTURE_LINK_ETHERNET) {
		error_set(error,
			"has link type %" PRIu32 " (%s), not Ethernet (1); "
			"capture on an Ethernet interface",
			link_type, capture_link_name(link_type));
		return -ENOTSUP;
	}
	return 0;
}

// Bit 26 of the link type: the frames hold their frame check sequence, whose length is in the upper
// four bits, in words of 16 bits. Some writers mean bytes.
static uint32_t declared_fcs_len(uint32_t link_type)
{
	uint32_t len = link_type >> 28;

	return (link_type & 1 << 26) != 0 && (len == 2 || len == 4) ? CAPTURE_FCS_LEN : 0;
}

static int pcap_open(struct capture *capture, struct error *error)
{
	struct byte_source *source = capture->source;
	size_t left = byte_source_more(source, FILE_HEADER_BYTES);
	struct pcap *pcap = calloc(1, sizeof(*pcap));

	capture->state = pcap;
	if (pcap == NULL)
		return -ENOMEM;
	if (left < FILE_HEADER_BYTES) {
		capture_finish(capture, left);
		return 0;
	}

	const uint8_t *header = source->next;
	uint32_t magic = load_u32(header, false);
	pcap->is_swapped = magic != MAGIC_US && magic != MAGIC_NS && magic != MAGIC_MODIFIED;
	magic = load_u32(header, pcap->is_swapped);
	pcap->header_len =
		magic == MAGIC_MODIFIED ? MODIFIED_RECORD_HEADER_BYTES : RECORD_HEADER_BYTES;
	pcap->fraction_limit = magic == MAGIC_NS ? 1000000000 : 1000000;
	pcap->fraction_ns = magic == MAGIC_NS ? 1 : 1000;
	pcap->snaplen = load_u32(header + 16, pcap->is_swapped);
	pcap->max_len = pcap->snaplen;
	if (pcap->max_len < CAPTURE_USUAL_MAX_LEN)
		pcap->max_len = CAPTURE_USUAL_MAX_LEN;
	if (pcap->max_len > CAPTURE_MAX_LEN)
		pcap->max_len = CAPTURE_MAX_LEN;
	pcap->fcs_len = declared_fcs_len(load_u32(header + 20, pcap->is_swapped));
	source->next += FILE_HEADER_BYTES;
	return check_header(header, pcap->is_swapped, error);
}

const struct capture_format capture_pcap = {
	.name = "pcap",
	.open = pcap_open,
	.walk = pcap_walk,
	.judge = pcap_judge,
	.judge_restart = pcap_judge_restart,
	.note_broken = pcap_note_broken,
};
