#include "trace_options.h"

#include "cpu_list.h"
#include "option_spec.h"
#include "tracefs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char cpu_folder[] = "/sys/devices/system/cpu";

enum { PID_MAX = 1 << 22 }; // PID_MAX_LIMIT of 64-bit kernels

// "p99.9" and nothing else strtod would take.
static bool is_percentile(const char *text)
{
	static const char digits[] = "0123456789";
	size_t n = strspn(text + (*text == 'p'), digits);

	if (*text != 'p' || n == 0)
		return false;
	text += 1 + n;
	return *text == '\0' ||
	       (*text == '.' && text[1] != '\0' && text[1 + strspn(text + 1, digits)] == '\0');
}

int trace_parse_over(const char *text, struct late_config *config, struct error *error)
{
	static const struct option_spec time = {.name = "over", .type = OPTION_DURATION};
	double percent = is_percentile(text) ? strtod(text + 1, NULL) : 0;

	config->share = 0;
	config->fixed_ns = 0;
	if (percent > 0 && percent < 100) {
		config->share = percent / 100;
		return 0;
	}
	if (text[0] != 'p' && option_parse_value(NULL, &time, text, &config->fixed_ns, error) == 0)
		return 0;
	error_set(error, "--over %s: wanted a percentile, as p99.9, or a time, as 50us", text);
	return -EINVAL;
}

static int compare_threads(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

int trace_parse_threads(const char *text, struct trace_config *config, struct error *error)
{
	config->n_threads = 0;
	for (const char *at = text; *at != '\0';) {
		char *end;
		unsigned long thread = strtoul(at, &end, 10);
		bool is_number = isdigit((unsigned char)*at) && (*end == ',' || *end == '\0');
		if (!is_number || thread == 0 || thread > PID_MAX) {
			error_set(
				error, "--threads %s: not thread numbers; write them as 7,9", text);
			return -EINVAL;
		}
		if (config->n_threads == TRACE_THREADS_MAX) {
			error_set(error, "--threads: more than %d threads; name fewer",
				TRACE_THREADS_MAX);
			return -EINVAL;
		}
		config->threads[config->n_threads++] = (uint32_t)thread;
		at = *end == ',' ? end + 1 : end;
	}
	qsort(config->threads, config->n_threads, sizeof(*config->threads), compare_threads);
	return 0;
}

static bool read_cpus(const char *name, cpu_set_t *out)
{
	char *text = tracefs_read(cpu_folder, name);
	bool is_read = text != NULL && cpu_list_parse(text, out) == 0;

	free(text);
	if (!is_read)
		CPU_ZERO(out);
	return is_read;
}

int trace_check_cores(const cpu_set_t *cores, struct error *error)
{
	cpu_set_t online, there;
	char list[256], known[256];

	if (!read_cpus("online", &online))
		return 0;
	CPU_AND(&there, cores, &online);
	if (CPU_EQUAL(&there, cores))
		return 0;
	error_set(error, "--cores %s: not all online; online are %s",
		cpu_list_format(cores, list, sizeof(list)),
		cpu_list_format(&online, known, sizeof(known)));
	return -EINVAL;
}

static bool move_to(const cpu_set_t *among, const cpu_set_t *but)
{
	cpu_set_t cpus, both;

	CPU_AND(&both, among, but);
	CPU_XOR(&cpus, among, &both);
	return CPU_COUNT(&cpus) > 0 && sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
}

bool trace_move_away(const cpu_set_t *watched)
{
	cpu_set_t allowed, online, isolated, not_for_us;

	if (cpu_list_allowed(&allowed) == 0 && move_to(&allowed, watched))
		return true;
	(void)read_cpus("isolated", &isolated);
	CPU_OR(&not_for_us, watched, &isolated);
	return read_cpus("online", &online) && move_to(&online, &not_for_us);
}
