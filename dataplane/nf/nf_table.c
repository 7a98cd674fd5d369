// Every network function. A new one is a file beside this one and its name in meson.build, which
// makes nf_list.h: one NF(name) a line.

#include "nf_table.h"

#include <rte_common.h>

#include <string.h>

#define NF(name) extern const struct nf_ops nf_##name;
#include "nf_list.h"
#undef NF

#define NF(name) &nf_##name,
const struct nf_ops *const nf_table[] = {
#include "nf_list.h"
};
#undef NF

const size_t nf_table_size = RTE_DIM(nf_table);

const struct nf_ops *nf_find(const char *name)
{
	for (size_t i = 0; i < nf_table_size; i++)
		if (strcmp(nf_table[i]->name, name) == 0)
			return nf_table[i];
	return NULL;
}
