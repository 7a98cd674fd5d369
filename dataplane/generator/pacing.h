#pragma once

// When a departure may leave. The schedule says when it is due; a sender that was stalled sends
// late and never catches up in a burst (method rule 1). So each packet has an effective time
//   e = max(due, e of the packet before + half its gap)
// and leaves when now >= e: a backlog is worked off at twice the offered rate, one packet each
// half gap. When the sender itself comes late to e, by more than the quantum, e moves to
// now - quantum: what is sent in one go never exceeds what half gaps put into a quantum. The due
// time never moves, so latency from intent shows every delay.

#include <stdint.h>

struct pacing {
	uint64_t effective_tsc; // of the last packet sent
	uint64_t quantum_ticks;
};

// Hot path. When the packet after the last one sent may leave.
static inline uint64_t pacing_next(
	const struct pacing *pacing, uint64_t due_tsc, uint64_t gap_ticks)
{
	uint64_t after_last = pacing->effective_tsc + gap_ticks / 2;

	return due_tsc > after_last ? due_tsc : after_last;
}

// Hot path. The packet with this effective time leaves now.
static inline void pacing_sent(struct pacing *pacing, uint64_t effective_tsc, uint64_t now_tsc)
{
	if (now_tsc - effective_tsc > pacing->quantum_ticks)
		effective_tsc = now_tsc - pacing->quantum_ticks;
	pacing->effective_tsc = effective_tsc;
}
