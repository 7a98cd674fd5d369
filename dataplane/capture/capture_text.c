// What was wrong with a capture, in words.

#include "capture_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[N_CAPTURE_NOTES] = {
	[CAPTURE_EMPTY] = "empty",
	[CAPTURE_CUT_OFF] = "cut_off",
	[CAPTURE_BAD_LENGTH] = "bad_length",
	[CAPTURE_RESYNCHRONISED] = "resynchronised",
	[CAPTURE_BAD_TIME] = "bad_time",
	[CAPTURE_OTHER_LINK_TYPE] = "other_link_type",
	[CAPTURE_BACKWARDS] = "backwards",
	[CAPTURE_SNAPPED] = "snapped",
	[CAPTURE_UNREADABLE] = "unreadable",
};

// https://www.tcpdump.org/linktypes.html: what turns up where Ethernet was meant.
static const struct {
	uint32_t link_type;
	const char *name;
} link_names[] = {
	{0, "BSD loopback"},
	{6, "Token Ring"},
	{9, "PPP"},
	{12, "raw IP"},
	{14, "raw IP"},
	{101, "raw IP"},
	{104, "Cisco HDLC"},
	{105, "IEEE 802.11"},
	{108, "OpenBSD loopback"},
	{113, "Linux cooked"},
	{127, "IEEE 802.11 with radiotap"},
	{197, "ERF"},
	{220, "USB"},
	{228, "raw IPv4"},
	{229, "raw IPv6"},
	{253, "netlink"},
	{276, "Linux cooked v2"},
};

const char *capture_link_name(uint32_t link_type)
{
	for (size_t i = 0; i < sizeof(link_names) / sizeof(link_names[0]); i++)
		if (link_names[i].link_type == link_type)
			return link_names[i].name;
	return "unknown";
}

const char *capture_note_name(enum capture_note_kind kind)
{
	return names[kind];
}

static void other_link_text(const struct capture_note *note, char *text, size_t len)
{
	if (note->detail == CAPTURE_NO_INTERFACE)
		snprintf(text, len,
			"frame at byte %" PRIu64 " names an interface the file does not describe, "
			"or only behind damage, passed over; %" PRIu64 " frames not Ethernet",
			note->first_offset, note->count);
	else
		snprintf(text, len,
			"frame at byte %" PRIu64 " has link type %" PRIu64
			" (%s), passed over; %" PRIu64 " frames not Ethernet",
			note->first_offset, note->detail, capture_link_name((uint32_t)note->detail),
			note->count);
}

static void cut_off_text(const struct capture_report *report, char *text, size_t len)
{
	const struct capture_note *note = &report->notes[CAPTURE_CUT_OFF];

	if (note->detail > 0)
		snprintf(text, len,
			"cut off: the record at byte %" PRIu64 " ends after %" PRIu64 " bytes",
			note->first_offset, note->detail);
	else
		snprintf(text, len, "cut off: the %s stream ends early, at byte %" PRIu64,
			report->compression, note->first_offset);
}

static void empty_text(const struct capture_report *report, char *text, size_t len)
{
	if (report->n_bytes == 0)
		snprintf(text, len, "empty: no byte");
	else
		snprintf(text, len, "no Ethernet frame in %" PRIu64 " bytes", report->n_bytes);
}

static void unreadable_text(const struct capture_report *report, char *text, size_t len)
{
	const struct capture_note *note = &report->notes[CAPTURE_UNREADABLE];

	if (note->detail == 0)
		snprintf(text, len, "nothing makes sense from byte %" PRIu64 " on: ends there",
			note->first_offset);
	else if (note->detail == EBADMSG)
		snprintf(text, len, "the %s data are damaged behind byte %" PRIu64 ": ends there",
			report->compression, note->first_offset);
	else
		snprintf(text, len, "cannot be read from byte %" PRIu64 " on: %s",
			note->first_offset, strerror((int)note->detail));
}

// What needs one form of words only; one number pair and the count.
static void plain_text(
	const struct capture_note *note, enum capture_note_kind kind, char *text, size_t len)
{
	static const char *const forms[N_CAPTURE_NOTES][2] = {
		[CAPTURE_BAD_LENGTH] = {"claims an impossible length,", "bytes"},
		[CAPTURE_RESYNCHRONISED] = {"makes no sense; passed over", "bytes"},
		[CAPTURE_BAD_TIME] = {"has no usable time, but", "as a fraction or stamp"},
		[CAPTURE_BACKWARDS] = {"is earlier than one before it, by", "ns"},
		[CAPTURE_SNAPPED] = {"is snapped: the file holds its first", "bytes"},
	};

	snprintf(text, len, "record at byte %" PRIu64 " %s %" PRIu64 " %s; %" PRIu64 " such",
		note->first_offset, forms[kind][0], note->detail, forms[kind][1], note->count);
}

void capture_note_text(const struct capture_report *report, enum capture_note_kind kind,
	const char *path, char *text, size_t len)
{
	const struct capture_note *note = &report->notes[kind];
	char what[256];

	switch (kind) {
	case CAPTURE_EMPTY:
		empty_text(report, what, sizeof(what));
		break;
	case CAPTURE_CUT_OFF:
		cut_off_text(report, what, sizeof(what));
		break;
	case CAPTURE_OTHER_LINK_TYPE:
		other_link_text(note, what, sizeof(what));
		break;
	case CAPTURE_UNREADABLE:
		unreadable_text(report, what, sizeof(what));
		break;
	default:
		plain_text(note, kind, what, sizeof(what));
	}
	snprintf(text, len, "%s: %s", path, what);
}
