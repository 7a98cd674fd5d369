#pragma once

// Polls a port and times what comes. A packet arrived between the poll that cannot have left it in
// the port (arrivals.h) and the return of the one that found it: the arrival window, the error bar
// of the receive stamp.

#include "arrivals.h"
#include "gap_watch.h"
#include "measurement.h"
#include "port.h"

#include <stdint.h>

enum { RECEIVER_BURST = 64 };

struct receiver {
	_Alignas(64) struct port *port;
	struct gap_watch *gaps;
	// By the direction a probe names. A port that serves both directions takes packets of both;
	// else what names the other direction was sent back: an orphan. What names none counts for
	// the first.
	struct measurement *of[2];
	uint8_t is_expected[2];
	uint32_t run_id;
	uint64_t epoch_tsc;
	struct arrivals arrivals;
	struct waiting waiting; // since the last poll with room to spare
};

// Hot path: one poll; before_tsc was read right before. Returns the number of frames.
uint32_t receiver_run(struct receiver *receiver, uint64_t before_tsc);
