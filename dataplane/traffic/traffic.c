#include "traffic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Parse options for ops and initialise its state. Returns 0 or -errno.
static int init_schedule(struct traffic *traffic, const char *option_text,
	const struct traffic_rate *rate, uint64_t seed, struct error *error)
{
	const struct traffic_ops *ops = traffic->ops;
	char owner[64];
	void *options = calloc(1, ops->options_size + 1);
	int err = -ENOMEM;

	traffic->state = calloc(1, ops->state_size);
	if (options == NULL || traffic->state == NULL) {
		error_set(error, "schedule %s: out of memory", ops->name);
		goto out;
	}
	snprintf(owner, sizeof(owner), "schedule %s", ops->name);
	err = option_parse_list(owner, ops->options, ops->n_options, option_text, options, error);
	if (err == 0)
		err = ops->init(traffic->state, options, rate, seed, error);
out:
	free(options);
	return err;
}

static int unknown_schedule(const char *schedule, struct error *error)
{
	error_set(error, "--schedule %s: no such schedule; known:", schedule);

	for (size_t i = 0; traffic_table[i] != NULL; i++)
		error_append(error, " %s", traffic_table[i]->name);
	return -EINVAL;
}

int traffic_create(const char *schedule, const struct traffic_rate *rate,
	const struct frame_mix *mix, uint32_t n_flows, uint64_t seed, struct traffic **out,
	struct error *error)
{
	size_t name_len = strcspn(schedule, ":");
	const char *option_text = schedule[name_len] == ':' ? schedule + name_len + 1 : NULL;
	const struct traffic_ops *ops = traffic_find(schedule, name_len);

	if (ops == NULL)
		return unknown_schedule(schedule, error);
	struct traffic *traffic = calloc(1, sizeof(*traffic));
	if (traffic == NULL) {
		error_set(error, "schedule %s: out of memory", ops->name);
		return -ENOMEM;
	}
	traffic->ops = ops;
	traffic->mix = *mix;
	traffic->n_flows = n_flows;
	// Two streams of one seed: sizes do not depend on how many numbers the schedule draws.
	frame_mix_seed(&traffic->mix, seed ^ UINT64_C(0x66726d6978)); // "frmix"
	int err = init_schedule(traffic, option_text, rate, seed, error);
	if (err < 0) {
		traffic_destroy(traffic);
		return err;
	}
	*out = traffic;
	return 0;
}

void traffic_destroy(struct traffic *traffic)
{
	if (traffic == NULL)
		return;
	free(traffic->state);
	free(traffic);
}

uint64_t traffic_at_once(const struct traffic *traffic)
{
	return traffic->ops->at_once != NULL ? traffic->ops->at_once(traffic->state) : 1;
}

int traffic_fits(const struct traffic *traffic, const struct traffic_rate *rate, uint64_t from_ns,
	uint64_t until_ns, struct error *error)
{
	if ((unsigned __int128)(until_ns - from_ns) * rate->packets < rate->per_ns) {
		error_set(error,
			"no packet is due in the %.9g s that are measured; raise the rate, or "
			"measure longer",
			(double)(until_ns - from_ns) / 1e9);
		return -EINVAL;
	}
	if (traffic->ops->fits == NULL)
		return 0;
	return traffic->ops->fits(traffic->state, from_ns, until_ns, error);
}
