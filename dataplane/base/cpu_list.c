#include "cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One number below CPU_SETSIZE, with blanks around it; moves *at behind them. Returns -1 if there
// is none.
static int parse_cpu(const char **at)
{
	char *end;

	*at += strspn(*at, " ");
	if (!isdigit((unsigned char)**at))
		return -1;
	unsigned long cpu = strtoul(*at, &end, 10);
	*at = end + strspn(end, " ");
	return cpu < CPU_SETSIZE ? (int)cpu : -1;
}

int cpu_list_parse(const char *text, cpu_set_t *out)
{
	const char *at = text;

	CPU_ZERO(out);
	do {
		int first = parse_cpu(&at);
		int last = first;

		if (first >= 0 && *at == '-') {
			at++;
			last = parse_cpu(&at);
		}
		if (first < 0 || last < first)
			return -EINVAL;
		for (int cpu = first; cpu <= last; cpu++)
			CPU_SET((size_t)cpu, out);
	} while (*at++ == ',');
	at--;
	return *at == '\0' || *at == '\n' ? 0 : -EINVAL;
}

char *cpu_list_format(const cpu_set_t *set, char *text, size_t len)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t first = 0; first < CPU_SETSIZE; first++) {
		if (!CPU_ISSET(first, set))
			continue;
		size_t last = first;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		int n = last > first ? snprintf(text + used, len - used, "%s%zu-%zu",
					       used > 0 ? "," : "", first, last)
				     : snprintf(text + used, len - used, "%s%zu",
					       used > 0 ? "," : "", first);
		if (n < 0 || (size_t)n >= len - used)
			break;
		used += (size_t)n;
		first = last;
	}
	return text;
}

int cpu_list_allowed(cpu_set_t *out)
{
	return sched_getaffinity(0, sizeof(*out), out) == 0 ? 0 : -errno;
}

int cpu_list_reachable(cpu_set_t *out)
{
	cpu_set_t before, all;
	int err = cpu_list_allowed(&before);

	if (err < 0)
		return err;
	// The kernel cuts what is asked for down to the cpuset (sched_setaffinity(2)).
	memset(&all, 0xff, sizeof(all));
	// Where that is forbidden (seccomp) the affinity is all that is known.
	(void)sched_setaffinity(0, sizeof(all), &all);
	err = cpu_list_allowed(out);
	(void)sched_setaffinity(0, sizeof(before), &before);
	return err;
}
