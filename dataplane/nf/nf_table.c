// Every network function, in the order --describe gives them. make lint names a file that defines
// one which is not here.

#include "nf_table.h"

#include "json_writer.h"

#include <rte_common.h>

#include <string.h>

extern const struct nf_ops nf_null;
extern const struct nf_ops nf_skeleton;
extern const struct nf_ops nf_mac_swap;
extern const struct nf_ops nf_bridge;
extern const struct nf_ops nf_delay;
extern const struct nf_ops nf_router;
extern const struct nf_ops nf_firewall;

const struct nf_ops *const nf_table[] = {
	&nf_null,
	&nf_skeleton,
	&nf_mac_swap,
	&nf_bridge,
	&nf_delay,
	&nf_router,
	&nf_firewall,
};

const size_t nf_table_size = RTE_DIM(nf_table);

const struct nf_ops *nf_find(const char *name)
{
	for (size_t i = 0; i < nf_table_size; i++)
		if (strcmp(nf_table[i]->name, name) == 0)
			return nf_table[i];
	return NULL;
}

void nf_report(const struct nf_ops *ops, const void *state, struct json *json)
{
	json_object(json, "dropped_by");
	for (size_t i = 0; i < ops->n_drops; i++)
		json_u64(json, ops->drops[i].reason,
			*(const uint64_t *)((const char *)state + ops->drops[i].offset));
	json_end(json);
	if (ops->report != NULL)
		ops->report(state, json);
}
