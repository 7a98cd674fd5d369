#pragma once

#include <rte_mempool.h>

#include <stddef.h>

// Mbufs of one size for all kinds of ports. NULL with rte_errno set. Freed with rte_mempool_free.
struct rte_mempool *pool_create(const char *name, unsigned int n_mbufs);

// Megabytes of EAL memory that such a pool and the rest of a program need, with room to spare.
unsigned int pool_memory_mb(unsigned int n_mbufs);
