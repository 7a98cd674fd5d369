#pragma once

// The probe in a frame of taut's generator, for the generator and for whoever finds its frames in
// a capture: it follows the UDP header and is little endian:
//   magic u16 | run id u32 | seq u48 | due u48 (ticks since the epoch)
// Bit 47 of seq is the direction, so that a frame the device under test sends back where it came
// from is no packet of the other direction.

enum probe_format {
	PROBE_OFFSET = 14 + 20 + 8, // in the frames the generator sends: no tags, no IPv4 options
	PROBE_LEN = 18,
	PROBE_ID_LEN = 12, // magic, run id and seq, which say which packet it is
	PROBE_DIRECTION_BIT = 47,
	PROBE_DUE_BITS = 48,
	PROBE_MAGIC = 0x7a54,
};
