#include "stages.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>

struct pipeline {
	const struct stage *stages;
	size_t n_stages;
	pthread_mutex_t lock; // of all below, and held by is_ready and done
	pthread_cond_t changed;
	bool is_running[STAGES_MOST];
	size_t n_running, n_waiting;
	bool is_over;
};

// The first stage that is ready and not at work; n_stages: none.
static size_t next_stage(const struct pipeline *pipeline)
{
	size_t i = 0;

	while (i < pipeline->n_stages &&
		(pipeline->is_running[i] ||
			!pipeline->stages[i].is_ready(pipeline->stages[i].context)))
		i++;
	return i;
}

static void run_stage(struct pipeline *pipeline, size_t i)
{
	const struct stage *stage = &pipeline->stages[i];

	pipeline->is_running[i] = true;
	pipeline->n_running++;
	if (pipeline->n_waiting > 0 && next_stage(pipeline) < pipeline->n_stages)
		pthread_cond_signal(&pipeline->changed);
	pthread_mutex_unlock(&pipeline->lock);
	stage->work(stage->context);
	pthread_mutex_lock(&pipeline->lock);
	stage->done(stage->context);
	pipeline->is_running[i] = false;
	pipeline->n_running--;
}

static void *run_stages(void *argument)
{
	struct pipeline *pipeline = argument;

	pthread_mutex_lock(&pipeline->lock);
	while (!pipeline->is_over) {
		size_t i = next_stage(pipeline);
		if (i < pipeline->n_stages) {
			run_stage(pipeline, i);
		} else if (pipeline->n_running > 0) {
			pipeline->n_waiting++;
			pthread_cond_wait(&pipeline->changed, &pipeline->lock);
			pipeline->n_waiting--;
		} else {
			// Nothing is ready, and nobody works who could change that.
			pipeline->is_over = true;
			pthread_cond_broadcast(&pipeline->changed);
		}
	}
	pthread_mutex_unlock(&pipeline->lock);
	return NULL;
}

void stages_run(const struct stage *stages, size_t n_stages, size_t n_threads)
{
	struct pipeline pipeline = {.stages = stages, .n_stages = n_stages};
	pthread_t threads[STAGES_MOST];
	size_t n = 0;

	assert(n_stages <= STAGES_MOST);
	pthread_mutex_init(&pipeline.lock, NULL);
	pthread_cond_init(&pipeline.changed, NULL);
	while (n + 1 < n_threads && n + 1 < n_stages &&
		pthread_create(&threads[n], NULL, run_stages, &pipeline) == 0)
		n++;
	run_stages(&pipeline);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&pipeline.changed);
	pthread_mutex_destroy(&pipeline.lock);
}

size_t stages_threads(size_t n_stages)
{
	cpu_set_t cores;
	size_t n = sched_getaffinity(0, sizeof(cores), &cores) < 0 ? 2 : (size_t)CPU_COUNT(&cores);

	if (n < 2)
		n = 2;
	return n < n_stages ? n : n_stages;
}
