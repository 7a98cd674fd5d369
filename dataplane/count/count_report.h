#pragma once

// The files a count leaves: count.json with histograms.bin, times.bin and worst.bin, or
// episodes.json. record_format.h defines the record files, records/documents/count.py the others.

#include "episodes.h"
#include "packet_counts.h"

// Both return 0 or the first -errno.
int count_report_write(
	struct packet_counts *counts, const struct record_file_header *header, const char *folder);
int count_report_write_episodes(const struct episodes *episodes, const char *folder);
