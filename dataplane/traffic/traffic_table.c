// Every schedule. The list itself stands in meson.build, so that adding a schedule is one file and
// one line there.

#include "traffic.h"

#include <string.h>

#define MEMBER(name) extern const struct traffic_ops traffic_##name;
#include "traffic_members.h"
#undef MEMBER

#define MEMBER(name) &traffic_##name,
const struct traffic_ops *const traffic_table[] = {
#include "traffic_members.h"
	NULL,
};
#undef MEMBER

const struct traffic_ops *traffic_find(const char *name, size_t name_len)
{
	for (size_t i = 0; traffic_table[i] != NULL; i++)
		if (strlen(traffic_table[i]->name) == name_len &&
			memcmp(traffic_table[i]->name, name, name_len) == 0)
			return traffic_table[i];
	return NULL;
}
