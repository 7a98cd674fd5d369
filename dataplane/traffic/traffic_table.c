// Every schedule, in the order --describe gives them; NULL at the end.

#include "traffic.h"

#include <string.h>

extern const struct traffic_ops traffic_constant;
extern const struct traffic_ops traffic_jittered;
extern const struct traffic_ops traffic_poisson;
extern const struct traffic_ops traffic_burst;
extern const struct traffic_ops traffic_step;

const struct traffic_ops *const traffic_table[] = {
	&traffic_constant,
	&traffic_jittered,
	&traffic_poisson,
	&traffic_burst,
	&traffic_step,
	NULL,
};

const struct traffic_ops *traffic_find(const char *name, size_t name_len)
{
	for (size_t i = 0; traffic_table[i] != NULL; i++)
		if (strlen(traffic_table[i]->name) == name_len &&
			memcmp(traffic_table[i]->name, name, name_len) == 0)
			return traffic_table[i];
	return NULL;
}
