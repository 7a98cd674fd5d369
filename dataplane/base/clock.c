#include "clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	NS_PER_S = 1000000000,
	// One of them is free of interrupts and cache misses even on a busy machine.
	POINT_TRIES = 64,
};

static uint64_t mono_raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void clock_point_take(struct clock_point *out)
{
	out->width_ticks = UINT64_MAX;
	for (int i = 0; i < POINT_TRIES; i++) {
		uint64_t before = clock_tsc();
		uint64_t ns = mono_raw_ns();
		uint64_t width = clock_tsc() - before;

		if (width >= out->width_ticks)
			continue;
		out->tsc = before + width / 2;
		out->mono_raw_ns = ns;
		out->width_ticks = width;
	}
}

void clock_points_take(struct clock_point *out, size_t n, uint64_t spread_ns)
{
	uint64_t pause_ns = n > 1 ? spread_ns / (n - 1) : 0;
	struct timespec pause = {
		.tv_sec = (time_t)(pause_ns / NS_PER_S),
		.tv_nsec = (long)(pause_ns % NS_PER_S),
	};

	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		clock_point_take(&out[i]);
	}
}

// How far the points are from a line at most; x0 and y0: a point of it, relative to the first.
static double farthest_ns(
	const struct clock_point *points, size_t n, double x0, double y0, double ns_per_tick)
{
	double most_ns = 0;

	for (size_t i = 0; i < n; i++) {
		double x = (double)(points[i].tsc - points[0].tsc) - x0;
		double y = (double)(points[i].mono_raw_ns - points[0].mono_raw_ns) - y0;
		most_ns = fmax(most_ns, fabs(y - x * ns_per_tick));
	}
	return most_ns;
}

int clock_fit(const struct clock_point *points, size_t n, struct clock_fit *out)
{
	double mean_x = 0, mean_y = 0, sxx = 0, sxy = 0;

	if (n < 2)
		return -EINVAL;
	// Relative to the first point: a double then holds hours to the nanosecond.
	for (size_t i = 0; i < n; i++) {
		mean_x += (double)(points[i].tsc - points[0].tsc) / (double)n;
		mean_y += (double)(points[i].mono_raw_ns - points[0].mono_raw_ns) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double x = (double)(points[i].tsc - points[0].tsc) - mean_x;
		double y = (double)(points[i].mono_raw_ns - points[0].mono_raw_ns) - mean_y;
		sxx += x * x;
		sxy += x * y;
	}
	if (!(sxx > 0) || !(sxy > 0))
		return -EINVAL;

	double ns_per_tick = sxy / sxx;
	out->tsc_hz = NS_PER_S / ns_per_tick;
	out->residual_ns = farthest_ns(points, n, mean_x, mean_y, ns_per_tick);
	return 0;
}

int clock_line(const struct clock_point *points, size_t n, struct clock_fit *out)
{
	if (n < 2)
		return -EINVAL;

	double ticks = (double)(points[n - 1].tsc - points[0].tsc);
	double elapsed_ns = (double)(points[n - 1].mono_raw_ns - points[0].mono_raw_ns);
	if (!(ticks > 0) || !(elapsed_ns > 0))
		return -EINVAL;

	double ns_per_tick = elapsed_ns / ticks;
	out->tsc_hz = NS_PER_S / ns_per_tick;
	out->residual_ns = farthest_ns(points, n, 0, 0, ns_per_tick);
	return 0;
}

uint64_t clock_ticks(uint64_t ns, uint64_t tsc_hz)
{
	return (uint64_t)(((unsigned __int128)ns * tsc_hz + NS_PER_S / 2) / NS_PER_S);
}

uint64_t clock_ns(uint64_t ticks, uint64_t tsc_hz)
{
	return (uint64_t)(((unsigned __int128)ticks * NS_PER_S + tsc_hz / 2) / tsc_hz);
}

// A flag is a word of its own in the line: "tsc" is not "constant_tsc".
static bool has_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(line, word); at != NULL; at = strstr(at + 1, word)) {
		char before = at > line ? at[-1] : ' ';
		char after = at[len];
		if ((before == ' ' || before == '\t' || before == ':') &&
			(after == ' ' || after == '\n' || after == '\0'))
			return true;
	}
	return false;
}

bool clock_is_usable(const char *cpuinfo_path, struct clock_flags *flags, struct error *why)
{
	struct clock_flags found = {.constant_tsc = true, .nonstop_tsc = true};
	const char *path = cpuinfo_path != NULL ? cpuinfo_path : "/proc/cpuinfo";
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t line_size = 0;
	bool seen = false;

	if (file != NULL) {
		while (getline(&line, &line_size, file) > 0) {
			if (strncmp(line, "flags", 5) != 0)
				continue;
			seen = true;
			found.constant_tsc &= has_word(line, "constant_tsc");
			found.nonstop_tsc &= has_word(line, "nonstop_tsc");
		}
		fclose(file);
	}
	free(line);
	if (!seen)
		found = (struct clock_flags){0};
	if (flags != NULL)
		*flags = found;

	bool usable = found.constant_tsc && found.nonstop_tsc;
	why->text[0] = '\0';
	if (!seen)
		error_set(why, "clock: %s: no CPU flags; needs an x86 machine", path);
	else if (!usable)
		error_set(why,
			"clock: no %s: the TSC changes speed or stops; use a machine (or a VM "
			"with the CPU flag passed through) that has it",
			found.constant_tsc ? "nonstop_tsc" : "constant_tsc");
	return usable;
}
