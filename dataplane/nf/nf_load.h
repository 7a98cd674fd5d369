#pragma once

#include "nf.h"

// Find the network function of a --nf, "NAME[:key=value,...]", and read its options. A NAME with a
// slash, or that ends in .so, is a file: the shared object is loaded, held to this program's
// version of nf.h, and kept until the process ends. Returns 0 or -errno with one line in error.
// *options is the caller's to free.
int nf_open(const char *text, const struct nf_ops **ops, void **options, struct error *error);
