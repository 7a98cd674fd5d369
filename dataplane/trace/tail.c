#include "tail.h"

#include <errno.h>
#include <string.h>

enum { MARKS_MOST = 2 + CPU_SETSIZE }; // that may be written at once

int tail_open(struct tail *tail, const struct tail_config *config, uint64_t start_tsc,
	tail_write write, void *context)
{
	*tail = (struct tail){
		.config = config,
		.write = write,
		.context = context,
		.whole_until_tsc = start_tsc,
	};
	int err = event_queue_create(&tail->queue, config->memory_bytes);
	return err < 0 ? err : late_packets_open(&tail->late, &config->late, start_tsc);
}

void tail_close(struct tail *tail)
{
	if (tail->config == NULL)
		return;
	late_packets_close(&tail->late);
	event_queue_destroy(tail->queue);
	tail->config = NULL;
}

// Until when a record says something.
static uint64_t end_of(const struct event_record *record)
{
	bool is_span = record->kind == EVENT_LOST && record->args[1] > record->tsc;

	return is_span ? record->args[1] : record->tsc;
}

static void lose_oldest(struct tail *tail)
{
	const struct event_record *oldest = event_queue_front(tail->queue);
	uint64_t until_tsc = end_of(oldest);

	if (tail->lost.n == 0)
		tail->lost.from_tsc = oldest->tsc;
	if (until_tsc > tail->lost.until_tsc)
		tail->lost.until_tsc = until_tsc;
	tail->lost.n++;
	event_queue_pop(tail->queue);
}

void tail_take(struct tail *tail, const struct event_record *record)
{
	while (!event_queue_push(tail->queue, record)) {
		// A chunk at once: its memory takes the next ones.
		size_t n = 0;
		while (n < EVENT_CHUNK && event_queue_front(tail->queue) != NULL) {
			lose_oldest(tail);
			n++;
		}
		if (n > 0)
			continue;
		// Not even memory for the first ones.
		if (tail->lost.n == 0)
			tail->lost.from_tsc = record->tsc;
		tail->lost.until_tsc = end_of(record);
		tail->lost.n++;
		return;
	}
}

static int put(struct tail *tail, const struct event_record *record)
{
	tail->n_written++;
	return tail->write(tail->context, record);
}

// End the stretch that was let go, if there is one.
static int mark_skipped(struct tail *tail, uint64_t until_tsc)
{
	const struct event_record mark = {
		.tsc = tail->skipped.from_tsc,
		.kind = EVENT_SKIPPED,
		.args = {tail->skipped.n,
			until_tsc > tail->skipped.from_tsc ? until_tsc : tail->skipped.from_tsc},
	};

	if (tail->skipped.n == 0)
		return 0;
	tail->skipped.n = 0;
	return put(tail, &mark);
}

// Let n events go that lie after what was kept last.
static void skip(struct tail *tail, uint64_t tsc, uint64_t n)
{
	if (tail->skipped.n == 0)
		tail->skipped.from_tsc = tail->whole_until_tsc < tsc ? tail->whole_until_tsc : tsc;
	tail->skipped.n += n;
	tail->n_skipped += n;
}

// Whether there is room for more than the last marks. Once there is not, nothing more is kept.
static bool has_disk(struct tail *tail)
{
	uint64_t most = tail->config->disk_bytes / sizeof(struct event_record);

	if (tail->n_written + MARKS_MOST >= most)
		tail->is_disk_full = true;
	return !tail->is_disk_full;
}

// Windows that ended before tsc: in them all is kept that there was, and if it was nothing.
static int pass_windows(struct tail *tail, uint64_t tsc)
{
	const struct windows *windows = &tail->late.windows;
	int err = 0;

	while (err == 0 && tail->n_passed < windows->n &&
		windows->items[tail->n_passed].until_tsc < tsc) {
		const struct window *window = &windows->items[tail->n_passed++];
		if (!has_disk(tail))
			continue;
		err = mark_skipped(tail, window->from_tsc);
		if (window->until_tsc > tail->whole_until_tsc)
			tail->whole_until_tsc = window->until_tsc;
	}
	return err;
}

// The window that a stretch lies in, wholly or not, or NULL.
static const struct window *window_at(const struct tail *tail, uint64_t end_tsc)
{
	const struct windows *windows = &tail->late.windows;

	if (tail->n_passed == windows->n || windows->items[tail->n_passed].from_tsc > end_tsc)
		return NULL;
	return &windows->items[tail->n_passed];
}

static int keep(struct tail *tail, const struct event_record *record, const struct window *window)
{
	if (!has_disk(tail)) {
		tail->n_over_disk++;
		skip(tail, record->tsc, 1);
		return 0;
	}
	int err =
		mark_skipped(tail, window->from_tsc < record->tsc ? window->from_tsc : record->tsc);
	tail->n_kept++;
	tail->whole_until_tsc = end_of(record);
	return err < 0 ? err : put(tail, record);
}

static int decide_one(struct tail *tail, const struct event_record *record)
{
	int err = pass_windows(tail, record->tsc);
	const struct window *window = window_at(tail, end_of(record));

	if (err < 0)
		return err;
	if (window != NULL)
		return keep(tail, record, window);
	skip(tail, record->tsc, 1);
	return 0;
}

// What memory had no room for: lost if it was wanted, else let go like the rest.
static int decide_lost(struct tail *tail)
{
	const struct tail_stretch lost = tail->lost;
	int err = pass_windows(tail, lost.from_tsc);

	tail->lost = (struct tail_stretch){0};
	if (err < 0)
		return err;
	if (window_at(tail, lost.until_tsc) == NULL || !has_disk(tail)) {
		skip(tail, lost.from_tsc, lost.n);
		return 0;
	}
	err = mark_skipped(tail, lost.from_tsc);
	tail->n_lost += lost.n;
	tail->whole_until_tsc = lost.until_tsc;
	for (size_t cpu = 0; err == 0 && cpu < CPU_SETSIZE; cpu++) {
		const struct event_record mark = {
			.tsc = lost.from_tsc,
			.cpu = (uint16_t)cpu,
			.kind = EVENT_LOST,
			.args = {lost.n, lost.until_tsc},
		};
		if (CPU_ISSET(cpu, tail->config->cores))
			err = put(tail, &mark);
	}
	return err;
}

// All events that end before tsc.
static int decide_before(struct tail *tail, uint64_t tsc)
{
	const struct event_record *record;
	int err = 0;

	if (tail->lost.n > 0) {
		if (tail->lost.until_tsc >= tsc)
			return 0;
		err = decide_lost(tail);
	}
	while (err == 0 && (record = event_queue_front(tail->queue)) != NULL &&
		end_of(record) < tsc) {
		if (record->tsc > tail->late.decided_tsc)
			tail->late.decided_tsc = record->tsc;
		err = decide_one(tail, record);
		event_queue_pop(tail->queue);
		pace_step(tail->config->pace);
	}
	windows_drop(&tail->late.windows, tail->n_passed);
	tail->n_passed = 0;
	return err;
}

static int decide(struct tail *tail, uint64_t tsc, struct error *error)
{
	int err = decide_before(tail, tsc);

	if (err < 0)
		error_set(error, "events.bin: not all events were written: %s", strerror(-err));
	return err;
}

int tail_decide(struct tail *tail, struct error *error)
{
	int err = late_packets_read(&tail->late, error);

	return err < 0 ? err : decide(tail, late_packets_passed(&tail->late), error);
}

int tail_finish(struct tail *tail, uint64_t stopped_tsc, struct error *error)
{
	int err = late_packets_read(&tail->late, error);

	if (err == 0)
		err = decide(tail, UINT64_MAX, error);
	if (err == 0)
		err = pass_windows(tail, stopped_tsc);
	const struct window *last = window_at(tail, stopped_tsc);
	bool is_kept = last != NULL && !tail->is_disk_full;
	if (err == 0)
		err = mark_skipped(tail, is_kept ? last->from_tsc : stopped_tsc);
	return err;
}
