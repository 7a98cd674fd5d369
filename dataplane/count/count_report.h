#pragma once

// The files a count leaves: count.json with histograms.bin, times.bin and worst.bin, or
// episodes.json. record_format.h defines the record files, records/documents/count.py the others.

#include "episodes.h"
#include "packet_counts.h"
#include "record_file.h"

// All return 0 or the first -errno.

// Create times.bin; count_report_times, with it as context, appends what is given to it.
int count_report_open_times(const char *folder, struct record_file *times);
time_counts_give count_report_times;

int count_report_write(struct packet_counts *counts, const char *folder);
int count_report_write_episodes(const struct episodes *episodes, const char *folder);
