#pragma once

// What a backlog of the sender leaves behind. It leaves at twice the rate and so can build a queue
// in the device, in which packets wait that are sent on time: these are void, too. The queue is
// taken to last while a void packet sent before is on its way, and for as long again as the backlog
// took to leave, which is as long as it was late (pacing.h), less a few quanta. So never more than
// half as many packets again are void: not all of a device whose queue never empties, or of a long
// way, and none behind the many backlogs of three quanta or less.

#include "in_flight.h"

#include <stdbool.h>
#include <stdint.h>

struct backlog {
	uint64_t until_tsc; // what is sent before can stand behind it; 0: there is none
	// Packets of it, and those that stood behind it, from the first that may be on its way on.
	// A device that takes packets by several ways may let the last of them out first.
	uint64_t first_seq, end_seq;
};

static inline void backlog_add(struct backlog *backlog, uint64_t seq)
{
	if (backlog->first_seq >= backlog->end_seq)
		backlog->first_seq = seq;
	backlog->end_seq = seq + 1;
}

// Hot path: packet seq was sent at sent_tsc, because of a gap so much too late.
static inline void backlog_sent(struct backlog *backlog, uint64_t seq, uint64_t sent_tsc,
	uint64_t late_ticks, uint64_t quantum_ticks)
{
	uint64_t shown_ticks = late_ticks > 2 * quantum_ticks ? late_ticks - 2 * quantum_ticks : 0;

	if (sent_tsc >= backlog->until_tsc)
		backlog->first_seq = backlog->end_seq; // the one before is over
	if (sent_tsc + 2 * shown_ticks > backlog->until_tsc)
		backlog->until_tsc = sent_tsc + 2 * shown_ticks;
	backlog_add(backlog, seq);
}

// Hot path: is a backlog ahead of what comes to the device, on time, now? It may have filled it.
static inline bool backlog_is_ahead(
	struct backlog *backlog, struct in_flight *in_flight, uint64_t now_tsc)
{
	struct in_flight_entry *entry;

	if (__builtin_expect(now_tsc >= backlog->until_tsc, 1))
		return false;
	// Each packet is passed over once.
	while (backlog->first_seq < backlog->end_seq &&
		(in_flight_find(in_flight, backlog->first_seq, &entry) != IN_FLIGHT_FOUND ||
			entry->state != IN_FLIGHT_SENT))
		backlog->first_seq++;
	return backlog->first_seq < backlog->end_seq;
}

// Hot path: packet seq was sent on time. Does it stand behind a backlog? Then others behind it do.
static inline bool backlog_joined(
	struct backlog *backlog, struct in_flight *in_flight, uint64_t seq, uint64_t sent_tsc)
{
	if (!backlog_is_ahead(backlog, in_flight, sent_tsc))
		return false;
	backlog_add(backlog, seq);
	return true;
}
