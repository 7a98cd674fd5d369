#pragma once

// Where the kernel lists NUMA nodes, each with its CPUs.
#define LCORE_NODES "/sys/devices/system/node"

// The lcore to run on a core as, whose number is the core's where EAL has one (RTE_MAX_LCORE). EAL
// takes memory on the node of the CPU of that number: another lcore is of the core's node, where
// `nodes` knows one, else 0.
int lcore_of(int core, const char *nodes);
