#include "gap_watch.h"

bool gap_watch_overlaps(const struct gap_watch *watch, uint64_t from_tsc, uint64_t until_tsc)
{
	const struct gap_record *gaps = watch->log.records;
	size_t low = 0, high = gap_log_kept(&watch->log);

	// Past the log's end nothing is known in detail: the last gap's end must answer.
	if (watch->log.not_logged > 0 && (high == 0 || from_tsc >= gaps[high - 1].end_tsc))
		return gap_watch_since(watch, from_tsc);
	// The first gap that ends after from_tsc.
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (gaps[middle].end_tsc > from_tsc)
			high = middle;
		else
			low = middle + 1;
	}
	return low < gap_log_kept(&watch->log) && gaps[low].start_tsc < until_tsc;
}
