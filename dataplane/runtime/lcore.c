#include "lcore.h"

#include <rte_config.h>

#include <stdio.h>
#include <unistd.h>

enum { MAX_PATH = 256 };

// -1: nothing tells.
static int node_of(int cpu, const char *nodes)
{
	char path[MAX_PATH];

	for (int node = 0; node < RTE_MAX_NUMA_NODES; node++) {
		snprintf(path, sizeof(path), "%s/node%d/cpu%d", nodes, node, cpu);
		if (access(path, F_OK) == 0)
			return node;
	}
	return -1;
}

int lcore_of(int core, const char *nodes)
{
	if (core < RTE_MAX_LCORE)
		return core;
	int node = node_of(core, nodes);
	for (int lcore = 0; lcore < RTE_MAX_LCORE; lcore++)
		if (node_of(lcore, nodes) == node)
			return lcore;
	return 0;
}
