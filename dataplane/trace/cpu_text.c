#include "cpu_text.h"

#include "cpu_list.h"

#include <errno.h>
#include <stdio.h>

char *cpu_text_mask(const cpu_set_t *cpus, char *text, size_t len)
{
	size_t used = 0;
	int word = CPU_SETSIZE / 32 - 1;
	uint32_t bits[CPU_SETSIZE / 32] = {0};

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, cpus))
			bits[cpu / 32] |= UINT32_C(1) << cpu % 32;
	while (word > 0 && bits[word] == 0)
		word--;
	for (text[0] = '\0'; word >= 0 && used < len; word--) {
		int n = snprintf(
			text + used, len - used, used > 0 ? ",%08x" : "%x", (unsigned)bits[word]);
		used += (size_t)n;
	}
	return text;
}

// One number or a run of them, behind what is there. Returns -E2BIG when it does not fit, else 0.
static int add_run(
	const char *field, size_t first, size_t last, char *text, size_t len, size_t *used)
{
	const char *joint = *used > 0 ? " || " : "";
	int n = first == last
			? snprintf(text + *used, len - *used, "%s%s == %zu", joint, field, first)
			: snprintf(text + *used, len - *used, "%s(%s >= %zu && %s <= %zu)", joint,
				  field, first, field, last);

	*used += (size_t)n;
	return *used < len ? 0 : -E2BIG;
}

int cpu_text_filter(const char *field, const cpu_set_t *cpus, char *text, size_t len)
{
	size_t used = 0;
	int err = 0;

	text[0] = '\0';
	for (size_t first = 0; err == 0 && first < CPU_SETSIZE; first++) {
		if (!CPU_ISSET(first, cpus))
			continue;
		size_t last = first;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
			last++;
		err = add_run(field, first, last, text, len, &used);
		first = last;
	}
	return err;
}

int cpu_text_mask_filter(const char *field, const cpu_set_t *cpus, char *text, size_t len)
{
	char list[CPU_SETSIZE];
	int n = snprintf(
		text, len, "%s & CPUS{%s}", field, cpu_list_format(cpus, list, sizeof(list)));

	return (size_t)n < len ? 0 : -E2BIG;
}

int thread_text_filter(const char *field, const uint32_t *threads, size_t n, char *text, size_t len)
{
	size_t used = 0;
	int err = 0;

	text[0] = '\0';
	for (size_t i = 0, end; err == 0 && i < n; i = end) {
		for (end = i + 1; end < n && threads[end] - threads[end - 1] <= 1;)
			end++;
		err = add_run(field, threads[i], threads[end - 1], text, len, &used);
	}
	return err;
}
