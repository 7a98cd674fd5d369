// Every network function. The list itself stands in meson.build, so that adding a function is one
// file and one line there.

#include "nf_table.h"

#include <rte_common.h>

#include <string.h>

#define MEMBER(name) extern const struct nf_ops nf_##name;
#include "nf_members.h"
#undef MEMBER

#define MEMBER(name) &nf_##name,
const struct nf_ops *const nf_table[] = {
#include "nf_members.h"
};
#undef MEMBER

const size_t nf_table_size = RTE_DIM(nf_table);

const struct nf_ops *nf_find(const char *name)
{
	for (size_t i = 0; i < nf_table_size; i++)
		if (strcmp(nf_table[i]->name, name) == 0)
			return nf_table[i];
	return NULL;
}
