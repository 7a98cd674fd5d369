#pragma once

// A static chain of network functions (docs/adr/0001). The worker calls it with a burst and gets
// back what survived; what a function drops is freed and counted here, nowhere else.

#include "error.h"
#include "nf.h"

#include <rte_mbuf.h>

#include <stddef.h>
#include <stdint.h>

enum { PIPELINE_MAX = 16 };

struct pipeline_stage {
	const struct nf_ops *ops;
	void *state;
	uint64_t n_in, n_dropped, n_held, n_released;
};

struct pipeline {
	struct pipeline_stage stages[PIPELINE_MAX];
	uint16_t n_stages;
	uint16_t n_holders; // stages with a release op
};

// Packets a holding function has dropped because it holds enough, and those it still holds.
static inline uint64_t pipeline_overflown(const struct pipeline_stage *stage)
{
	return stage->ops->n_dropped != NULL ? stage->ops->n_dropped(stage->state) : 0;
}

static inline uint64_t pipeline_holds(const struct pipeline_stage *stage)
{
	return stage->n_held - stage->n_released - pipeline_overflown(stage);
}

// Before EAL starts: refuse what pipeline_init would of the options, and give the bytes of DPDK's
// memory that the functions' tables are going to take. env: as for it, without tsc_hz. Returns 0 or
// -errno with one line in error.
int pipeline_memory(const char *const *texts, size_t n, const struct nf_env *env, uint64_t *bytes,
	struct error *error);

// texts: as nf_open takes them. Returns 0 or -errno with one line in error; on failure
// nothing stays allocated.
int pipeline_init(struct pipeline *pipeline, const char *const *texts, size_t n,
	const struct nf_env *env, struct error *error);
void pipeline_fini(struct pipeline *pipeline);

// Hot path: run stages [first, n_stages) over a burst; returns how many are left in pkts.
uint16_t pipeline_process(struct pipeline *pipeline, uint16_t first, struct rte_mbuf **pkts,
	uint16_t n, uint64_t now_tsc);

// Hot path: what a holding stage gives back now, run through the stages behind it. The worker
// calls it for each stage that holds. n_released counts what came out of the hold itself.
uint16_t pipeline_release(struct pipeline *pipeline, uint16_t stage, struct rte_mbuf **out,
	uint16_t max, uint64_t now_tsc);
