// pcapng: blocks, each with its length in front and behind. Sections may differ in byte order,
// interfaces in link type and time resolution.
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html

#include "capture_priv.h"
#include "pcapng_interface.h"

#include <errno.h>
#include <stdlib.h>

enum {
	BLOCK_INTERFACE = 1,
	BLOCK_OBSOLETE_PACKET = 2,
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_NAMES = 4,
	BLOCK_STATISTICS = 5,
	BLOCK_ENHANCED_PACKET = 6,
	BLOCK_SECRETS = 10,
	BLOCK_CUSTOM = 0xbad,
	BLOCK_CUSTOM_NO_COPY = 0x40000bad,
	BLOCK_SECTION = 0x0a0d0d0a, // the same in either byte order

	BLOCK_MIN_BYTES = 12,
	BLOCK_HEADER_BYTES = 8,
	SECTION_MIN_BYTES = 28,
	PACKET_MIN_BYTES = 32,
	PACKET_HEADER_BYTES = 28, // of an enhanced or obsolete packet block
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	MAX_INTERFACES = 65536,
};

struct pcapng {
	// Of this section.
	bool is_swapped;
	bool has_damage; // interfaces from here on have unknown numbers: one before may be lost
	size_t n_interfaces, room;
	struct interface interfaces[];
};

struct block {
	uint32_t type, len;
	bool is_swapped;
};

// The byte order of a section stands in its own header.
static struct judgement judge_section(
	const struct byte_source *source, const uint8_t *at, bool *is_swapped)
{
	if (source->end - at < SECTION_MIN_BYTES) {
		bool is_end = source->state != BYTE_SOURCE_OPEN;
		return (struct judgement){
			is_end ? RECORD_ENDS_EARLY : RECORD_TOO_SHORT, SECTION_MIN_BYTES, false};
	}
	*is_swapped = load_u32(at + BLOCK_HEADER_BYTES, false) != BYTE_ORDER_MAGIC;
	bool is_sound = load_u32(at + BLOCK_HEADER_BYTES, *is_swapped) == BYTE_ORDER_MAGIC &&
			load_u16(at + BLOCK_HEADER_BYTES + 4, *is_swapped) == 1;
	return (struct judgement){.verdict = is_sound ? RECORD_SOUND : RECORD_BROKEN};
}

static inline struct judgement judge_block(
	const struct capture *capture, const uint8_t *at, struct block *block)
{
	const struct pcapng *pcapng = capture->state;
	const struct byte_source *source = capture->source;
	size_t left = (size_t)(source->end - at);
	bool is_end = source->state != BYTE_SOURCE_OPEN;
	bool is_swapped = pcapng->is_swapped;

	if (left < BLOCK_MIN_BYTES)
		return (struct judgement){
			is_end ? RECORD_ENDS_EARLY : RECORD_TOO_SHORT, BLOCK_MIN_BYTES, false};
	if (load_u32(at, false) == BLOCK_SECTION) {
		struct judgement section = judge_section(source, at, &is_swapped);
		if (section.verdict != RECORD_SOUND)
			return section;
	}
	*block = (struct block){load_u32(at, is_swapped), load_u32(at + 4, is_swapped), is_swapped};
	if (block->len < BLOCK_MIN_BYTES || block->len % 4 != 0 || block->len > CAPTURE_MAX_LEN)
		return (struct judgement){.verdict = RECORD_BROKEN};
	if (left < block->len)
		return (struct judgement){
			is_end ? RECORD_ENDS_EARLY : RECORD_TOO_SHORT, block->len, true};
	if (load_u32(at + block->len - 4, is_swapped) != block->len)
		return (struct judgement){.verdict = RECORD_BROKEN};
	return (struct judgement){.verdict = RECORD_SOUND};
}

static struct judgement pcapng_judge(const struct capture *capture, const uint8_t *at)
{
	struct block block;

	return judge_block(capture, at, &block);
}

static bool is_known(uint32_t type)
{
	return (type >= BLOCK_INTERFACE && type <= BLOCK_ENHANCED_PACKET) ||
	       type == BLOCK_SECRETS || type == BLOCK_CUSTOM || type == BLOCK_CUSTOM_NO_COPY ||
	       type == BLOCK_SECTION;
}

// A known type and the same length twice: bytes that are no block hardly look like that. A type
// that only seems to be there must not ask for many bytes to be read ahead.
static struct judgement pcapng_judge_restart(const struct capture *capture, const uint8_t *at)
{
	const struct pcapng *pcapng = capture->state;
	struct block block;
	struct judgement found;

	if (capture->source->end - at >= 4 && !is_known(load_u32(at, pcapng->is_swapped)))
		return (struct judgement){.verdict = RECORD_BROKEN};
	found = judge_block(capture, at, &block);
	if (found.verdict == RECORD_ENDS_EARLY || found.want > CAPTURE_SEARCH_BYTES)
		found.verdict = RECORD_BROKEN;
	return found;
}

// Of a block that is too short, or lost, only the number.
static int add_interface(struct capture *capture, const uint8_t *at, uint32_t len)
{
	struct pcapng *pcapng = capture->state;

	if (pcapng->n_interfaces == pcapng->room) {
		size_t room = 2 * pcapng->room;
		struct pcapng *grown =
			realloc(pcapng, sizeof(*pcapng) + room * sizeof(pcapng->interfaces[0]));
		if (grown == NULL)
			return -ENOMEM;
		capture->state = pcapng = grown;
		pcapng->room = room;
	}
	pcapng->interfaces[pcapng->n_interfaces++] = interface_read(at, len, pcapng->is_swapped);
	return 0;
}

static void take_interface(struct capture *capture, const uint8_t *at, uint32_t len)
{
	struct pcapng *pcapng = capture->state;

	if (!pcapng->has_damage && pcapng->n_interfaces < MAX_INTERFACES &&
		add_interface(capture, at, len) < 0)
		pcapng->has_damage = true;
}

// One lost block, as one of its lengths says, is of the type that it says. Other bytes that were
// passed over may have held interfaces.
static void pcapng_note_broken(struct capture *capture, size_t n_passed)
{
	struct pcapng *pcapng = capture->state;
	const uint8_t *at = capture->source->next;
	uint32_t type = load_u32(at, pcapng->is_swapped);
	uint32_t len = load_u32(at + 4, pcapng->is_swapped);
	bool is_one =
		n_passed >= BLOCK_MIN_BYTES &&
		(len == n_passed || load_u32(at + n_passed - 4, pcapng->is_swapped) == n_passed);

	if (type == BLOCK_SECTION) {
		pcapng->n_interfaces = 0;
		pcapng->has_damage = !is_one;
	} else if (!is_one || !is_known(type)) {
		pcapng->has_damage = true;
	} else if (type == BLOCK_INTERFACE) {
		take_interface(capture, at, 0);
	}
	capture_note(capture, CAPTURE_BAD_LENGTH, byte_source_offset(capture->source, at), len);
}

// Of an interface whose frames are given.
static void take_statistics(struct capture *capture, const uint8_t *at, uint32_t len)
{
	struct pcapng *pcapng = capture->state;

	if (len < STATISTICS_MIN_BYTES)
		return;
	uint32_t number = load_u32(at + 8, pcapng->is_swapped);
	if (number < pcapng->n_interfaces &&
		pcapng->interfaces[number].link_type == CAPTURE_LINK_ETHERNET)
		capture->report.n_dropped += interface_take_statistics(
			&pcapng->interfaces[number], at, len, pcapng->is_swapped);
}

// An enhanced or an obsolete packet block: they differ in how wide the interface's number is.
// Returns whether it gives a frame.
static inline bool give_packet(struct capture *capture, const struct block *block,
	const uint8_t *at, struct capture_frame *frame)
{
	struct pcapng *pcapng = capture->state;
	const bool is_swapped = pcapng->is_swapped;
	uint64_t offset = byte_source_offset(capture->source, at);
	uint32_t cap_len, number;
	uint64_t link_type, stamp;

	if (block->len < PACKET_MIN_BYTES) {
		capture_note(capture, CAPTURE_BAD_LENGTH, offset, block->len);
		return false;
	}
	number = block->type == BLOCK_ENHANCED_PACKET ? load_u32(at + 8, is_swapped)
						      : load_u16(at + 8, is_swapped);
	stamp = (uint64_t)load_u32(at + 12, is_swapped) << 32 | load_u32(at + 16, is_swapped);
	cap_len = load_u32(at + 20, is_swapped);
	if (cap_len > block->len - PACKET_MIN_BYTES) {
		capture_note(capture, CAPTURE_BAD_LENGTH, offset, cap_len);
		return false;
	}
	link_type = number < pcapng->n_interfaces ? pcapng->interfaces[number].link_type
						  : CAPTURE_NO_INTERFACE;
	if (link_type != CAPTURE_LINK_ETHERNET) {
		capture_note(capture, CAPTURE_OTHER_LINK_TYPE, offset, link_type);
		return false;
	}
	uint32_t options = PACKET_HEADER_BYTES + ((cap_len + 3) & ~UINT32_C(3));
	if (block->len > options + 4 && block->type == BLOCK_ENHANCED_PACKET)
		capture->report.n_dropped += interface_take_drops(
			&pcapng->interfaces[number], at + options, at + block->len - 4, is_swapped);
	struct capture_frame given = {
		.data = at + PACKET_HEADER_BYTES,
		.cap_len = cap_len,
		.wire_len = load_u32(at + 24, is_swapped),
	};
	if (!interface_time(&pcapng->interfaces[number], stamp, &given.ts_ns)) {
		capture_note(capture, CAPTURE_BAD_TIME, offset, stamp);
		return false;
	}
	capture_strip_fcs(&given, pcapng->interfaces[number].fcs_len);
	capture_give(capture, &given, at, frame);
	return true;
}

// A block that is no packet with a time stamp. Unknown ones are passed over, as the format wants.
static void take_block(struct capture *capture, const struct block *block, const uint8_t *at)
{
	struct pcapng *pcapng = capture->state;
	uint64_t offset = byte_source_offset(capture->source, at);

	if (block->type == BLOCK_SECTION) {
		pcapng->is_swapped = block->is_swapped;
		pcapng->has_damage = false;
		pcapng->n_interfaces = 0;
	} else if (block->type == BLOCK_SIMPLE_PACKET) {
		// It has no time stamp, and without one a frame is of no use here.
		capture_note(capture, CAPTURE_BAD_TIME, offset, 0);
	} else if (block->type == BLOCK_INTERFACE) {
		if (block->len < INTERFACE_MIN_BYTES)
			capture_note(capture, CAPTURE_BAD_LENGTH, offset, block->len);
		take_interface(capture, at, block->len);
	} else if (block->type == BLOCK_STATISTICS) {
		take_statistics(capture, at, block->len);
	}
}

static size_t pcapng_walk(struct capture *capture, struct capture_frame *frames, size_t max)
{
	struct byte_source *source = capture->source;
	struct block block;
	size_t n = 0;

	while (n < max) {
		const uint8_t *at = source->next;
		if (judge_block(capture, at, &block).verdict != RECORD_SOUND)
			break;
		if (block.type == BLOCK_ENHANCED_PACKET || block.type == BLOCK_OBSOLETE_PACKET)
			n += give_packet(capture, &block, at, &frames[n]);
		else
			take_block(capture, &block, at);
		source->next = at + block.len;
	}
	return n;
}

bool pcapng_recognises(uint32_t magic)
{
	return magic == BLOCK_SECTION;
}

static int pcapng_open(struct capture *capture, struct error *error)
{
	enum { ROOM = 4 };
	struct byte_source *source = capture->source;
	struct pcapng *pcapng = calloc(1, sizeof(*pcapng) + ROOM * sizeof(pcapng->interfaces[0]));
	bool is_swapped;

	capture->state = pcapng;
	if (pcapng == NULL)
		return -ENOMEM;
	pcapng->room = ROOM;
	byte_source_more(source, SECTION_MIN_BYTES);
	if (judge_section(source, source->next, &is_swapped).verdict == RECORD_BROKEN) {
		error_set(
			error, "is no pcapng file of version 1; rewrite it with editcap -F pcapng");
		return -EINVAL;
	}
	return 0;
}

const struct capture_format capture_pcapng = {
	.name = "pcapng",
	.open = pcapng_open,
	.walk = pcapng_walk,
	.judge = pcapng_judge,
	.judge_restart = pcapng_judge_restart,
	.note_broken = pcapng_note_broken,
};
