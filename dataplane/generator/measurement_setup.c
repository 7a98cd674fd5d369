#include "measurement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int take_histograms(struct measurement *m, const struct measurement_config *config)
{
	m->has_own_histograms = config->histograms[0] == NULL;
	for (int cold = 0; cold < (config->has_warm_up ? 2 : 1); cold++) {
		for (int is_void = 0; is_void < 2; is_void++) {
			bool is_given = cold == 0 && !m->has_own_histograms;
			m->histograms[cold][is_void] =
				is_given ? config->histograms[is_void]
					 : histogram_array_create(N_GENERATOR_SERIES);
			if (m->histograms[cold][is_void] == NULL)
				return -ENOMEM;
		}
	}
	return 0;
}

int measurement_init(struct measurement *m, const struct measurement_config *config)
{
	int err = -ENOMEM;

	*m = (struct measurement){
		.gaps = config->gaps,
		.device_holds = config->device_holds,
		.tail = tail_threshold_of(config->tail_one_in != 0 ? config->tail_one_in : 100),
		.odd_flags =
			(uint16_t) ~(PACKET_COLD | (config->tail_is_slow_only ? PACKET_VOID : 0)),
		.writer = config->writer,
		.mode = RECORD_MODE_NONE,
		.mode_asked = config->writer == NULL ? RECORD_MODE_NONE : config->mode,
		.direction = config->direction,
		.n_flows = config->n_flows,
		.quantum_ticks = config->quantum_ticks,
		.deadline_ticks = config->deadline_ticks,
		.overdue_tsc = config->in_flight.is_slow ? 0 : UINT64_MAX,
	};
	m->flows = calloc(config->n_flows, sizeof(*m->flows));
	if (m->flows == NULL)
		goto fail;
	for (uint32_t flow = 0; flow < config->n_flows; flow++)
		m->flows[flow].next_expected = flow;
	err = in_flight_init(&m->in_flight, config->in_flight.capacity);
	if (err < 0)
		goto fail;
	err = take_histograms(m, config);
	if (err < 0)
		goto fail;
	return 0;
fail:
	measurement_fini(m);
	return err;
}

void measurement_begin(struct measurement *m)
{
	memset(&m->counters, 0, sizeof(m->counters));
	m->mode = m->mode_asked;
}

void measurement_fini(struct measurement *m)
{
	for (int set = 0; set < 4; set++) {
		if (set >= 2 || m->has_own_histograms)
			histogram_array_destroy(
				m->histograms[set / 2][set % 2], N_GENERATOR_SERIES);
		m->histograms[set / 2][set % 2] = NULL;
	}
	in_flight_fini(&m->in_flight);
	free(m->flows);
	m->flows = NULL;
}
