#pragma once

// What a backlog of the sender leaves behind. It leaves at twice the rate and so can build a queue
// in the device, in which packets wait that are sent on time: these are void, too. The queue is
// taken to last while a void packet sent before is on its way, and for as long again as the backlog
// took to leave, which is as long as it was late (pacing.h), less a few quanta. So never more than
// half as many packets again are void: not all of a device whose queue never empties, or of a long
// way, and none behind the many backlogs of three quanta or less.
//
// A device may take flows by several ways, and lose some of a backlog: of each flow the last void
// packet is on its way until it, or a later one of its flow, is back. A flow of which nothing comes
// back any more, as behind a rule that drops it, is given up until something does: else all other
// flows would be void behind each gap for as long as above, however empty their way.

#include <stdbool.h>
#include <stdint.h>

struct backlog {
	uint64_t until_tsc; // what is sent before can stand behind it, if n_flows > 0
	uint32_t n_flows; // of which a packet of it, or one that stood behind it, is on its way
};

static const uint64_t BACKLOG_GIVEN_UP = UINT64_MAX;

// Of each flow.
struct backlog_flow {
	uint64_t end_seq; // behind its last such packet; 0: none is on its way; or BACKLOG_GIVEN_UP
};

static inline void backlog_add(struct backlog *backlog, struct backlog_flow *flow, uint64_t seq)
{
	if (flow->end_seq == BACKLOG_GIVEN_UP)
		return;
	backlog->n_flows += flow->end_seq == 0;
	flow->end_seq = seq + 1;
}

// Hot path: packet seq was sent at sent_tsc, because of a gap so much too late.
static inline void backlog_sent(struct backlog *backlog, struct backlog_flow *flow, uint64_t seq,
	uint64_t sent_tsc, uint64_t late_ticks, uint64_t quantum_ticks)
{
	uint64_t shown_ticks = late_ticks > 2 * quantum_ticks ? late_ticks - 2 * quantum_ticks : 0;

	// With none on its way the device is empty: this is another one, of its own length.
	if (backlog->n_flows == 0 || sent_tsc + 2 * shown_ticks > backlog->until_tsc)
		backlog->until_tsc = sent_tsc + 2 * shown_ticks;
	backlog_add(backlog, flow, seq);
}

// Hot path: can what comes to the device at this time, on time, find a backlog before it?
static inline bool backlog_is_ahead(const struct backlog *backlog, uint64_t tsc)
{
	return __builtin_expect(tsc < backlog->until_tsc, 0) && backlog->n_flows > 0;
}

// Hot path: packet seq was sent on time. Does it stand behind a backlog? Then others behind it do.
static inline bool backlog_joined(
	struct backlog *backlog, struct backlog_flow *flow, uint64_t seq, uint64_t sent_tsc)
{
	if (!backlog_is_ahead(backlog, sent_tsc))
		return false;
	backlog_add(backlog, flow, seq);
	return true;
}

// A packet of the flow is lost, and none sent after it has come back.
static inline void backlog_give_up(struct backlog *backlog, struct backlog_flow *flow)
{
	backlog->n_flows -= flow->end_seq != 0 && flow->end_seq != BACKLOG_GIVEN_UP;
	flow->end_seq = BACKLOG_GIVEN_UP;
}

// Hot path: packet seq is back.
static inline void backlog_received(
	struct backlog *backlog, struct backlog_flow *flow, uint64_t seq)
{
	if (__builtin_expect(flow->end_seq == 0, 1))
		return;
	if (flow->end_seq == BACKLOG_GIVEN_UP) {
		flow->end_seq = 0;
	} else if (seq + 1 >= flow->end_seq) {
		flow->end_seq = 0;
		backlog->n_flows--;
	}
}
