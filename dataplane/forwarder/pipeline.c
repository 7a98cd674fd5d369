#include "pipeline.h"

#include "nf_load.h"

#include <rte_common.h>
#include <rte_malloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// What cannot be opened is told when its turn to start comes.
static unsigned int count_holders(const char *const *texts, size_t n)
{
	unsigned int n_holders = 0;
	struct error error;

	for (size_t i = 0; i < n; i++) {
		const struct nf_ops *ops;
		void *options;
		if (nf_open(texts[i], &ops, &options, &error) < 0)
			continue;
		n_holders += ops->release != NULL;
		free(options);
	}
	return n_holders;
}

// The pool has what may be held once, however many functions hold.
static struct nf_env shared_env(const char *const *texts, size_t n, const struct nf_env *env)
{
	struct nf_env shared = *env;

	shared.hold_max /= RTE_MAX(count_holders(texts, n), 1U);
	return shared;
}

static int check_number(size_t n, struct error *error)
{
	if (n <= PIPELINE_MAX)
		return 0;
	error_set(error, "--nf: %zu given, %d is the most", n, PIPELINE_MAX);
	return -EINVAL;
}

int pipeline_memory(const char *const *texts, size_t n, const struct nf_env *env, uint64_t *bytes,
	struct error *error)
{
	const struct nf_env shared = shared_env(texts, n, env);
	int err = check_number(n, error);

	*bytes = 0;
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct nf_ops *ops;
		void *options;
		err = nf_open(texts[i], &ops, &options, error);
		if (err < 0)
			break;
		if (ops->memory != NULL)
			err = ops->memory(options, &shared, bytes, error);
		free(options);
	}
	return err;
}

static int stage_init(struct pipeline_stage *stage, const char *text, const struct nf_env *env,
	struct error *error)
{
	void *options;
	int err = nf_open(text, &stage->ops, &options, error);

	if (err < 0)
		return err;
	const struct nf_ops *ops = stage->ops;
	// One line of its own even for a function without state: neighbours never share it.
	stage->state =
		rte_zmalloc(ops->name, RTE_MAX(ops->state_size, (size_t)1), RTE_CACHE_LINE_SIZE);
	if (stage->state == NULL) {
		error_set(error, "--nf %s: out of memory", ops->name);
		err = -ENOMEM;
	} else if (ops->init != NULL) {
		err = ops->init(stage->state, options, env, error);
	}
	free(options);
	if (err < 0) {
		rte_free(stage->state);
		stage->state = NULL;
	}
	return err;
}

int pipeline_init(struct pipeline *pipeline, const char *const *texts, size_t n,
	const struct nf_env *env, struct error *error)
{
	const struct nf_env shared = shared_env(texts, n, env);
	int err = check_number(n, error);

	memset(pipeline, 0, sizeof(*pipeline));
	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++) {
		err = stage_init(&pipeline->stages[i], texts[i], &shared, error);
		if (err < 0) {
			pipeline_fini(pipeline);
			return err;
		}
		pipeline->n_stages++;
		pipeline->n_holders += pipeline->stages[i].ops->release != NULL;
	}
	return 0;
}

void pipeline_fini(struct pipeline *pipeline)
{
	for (uint16_t i = 0; i < pipeline->n_stages; i++) {
		struct pipeline_stage *stage = &pipeline->stages[i];
		if (stage->ops->fini != NULL)
			stage->ops->fini(stage->state);
		rte_free(stage->state);
	}
	pipeline->n_stages = 0;
}

uint16_t pipeline_process(struct pipeline *pipeline, uint16_t first, struct rte_mbuf **pkts,
	uint16_t n, uint64_t now_tsc)
{
	for (uint16_t i = first; i < pipeline->n_stages && n > 0; i++) {
		struct pipeline_stage *stage = &pipeline->stages[i];
		uint16_t kept = stage->ops->process(stage->state, pkts, n, now_tsc);
		stage->n_in += n;
		if (stage->ops->release != NULL) {
			stage->n_held += n - kept;
		} else if (unlikely(kept < n)) {
			stage->n_dropped += n - kept;
			rte_pktmbuf_free_bulk(&pkts[kept], n - kept);
		}
		n = kept;
	}
	return n;
}

uint16_t pipeline_release(struct pipeline *pipeline, uint16_t stage, struct rte_mbuf **out,
	uint16_t max, uint64_t now_tsc)
{
	struct pipeline_stage *holder = &pipeline->stages[stage];
	uint16_t n = holder->ops->release(holder->state, out, max, now_tsc);

	holder->n_released += n;
	return pipeline_process(pipeline, stage + 1, out, n, now_tsc);
}
