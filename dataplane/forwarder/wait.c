#include "wait.h"

#include "clock.h"
#include "option_spec.h"

#include <errno.h>
#include <string.h>

enum {
	// Of the processor's time and of the packet's: being woken took 27 to 40 us in a virtual
	// machine, and 11 us of processor a packet (docs/benchmarks.md).
	SLEEP_NS = 50000,
};

static const struct option_spec spin_spec = {
	.name = "spin",
	.type = OPTION_DURATION,
	.offset = offsetof(struct wait, spin_ns),
	.min = 1,
	.max = 1000000000,
};

static int parse_spin(struct wait *wait, const char *text, struct error *error)
{
	wait->chooses = false;
	return option_parse_value("--wait adaptive", &spin_spec, text, wait, error);
}

// The ways of rte_power: nobody has run them yet (docs/measuring.md).
static bool wants_waitpkg(const char *text)
{
	return strcmp(text, "pause") == 0 || strcmp(text, "monitor") == 0;
}

int wait_parse(struct wait *wait, const char *text, struct error *error)
{
	static const char with_time[] = "adaptive:";

	*wait = (struct wait){0};
	if (strcmp(text, "poll") == 0)
		return 0;
	wait->sleeps = true;
	if (strcmp(text, "interrupt") == 0)
		return 0;
	wait->chooses = true;
	if (strcmp(text, "adaptive") == 0)
		return 0;
	if (strncmp(text, with_time, sizeof(with_time) - 1) == 0)
		return parse_spin(wait, text + sizeof(with_time) - 1, error);
	error_set(error, "--wait %s: %s; one of poll, interrupt, adaptive[:50us]", text,
		wants_waitpkg(text) ? "not built: no processor with waitpkg (TPAUSE, UMWAIT) was "
				      "there to try it on"
				    : "no such way");
	return -EINVAL;
}

void wait_init(struct wait *wait, uint64_t tsc_hz)
{
	wait->nap_ticks = clock_ticks(WAIT_NAP_MS * 1000000UL, tsc_hz);
	wait->spin_ticks = clock_ticks(wait->spin_ns, tsc_hz);
	wait->arrived_tsc = clock_tsc();
	if (wait->chooses) {
		spin_init(&wait->spin, clock_ticks(SLEEP_NS, tsc_hz));
		wait->spin_ticks = wait->spin.ticks;
	}
}
