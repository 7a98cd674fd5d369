#pragma once

// How much one iteration of the worker handles at most.

enum {
	BURST_MAX = 256, // packets one poll may return
	PORTS_MAX = 16,
};
