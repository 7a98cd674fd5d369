// Every kind of port. The list itself stands in meson.build, so that adding a kind is one file and
// one line there.

#include "port_kind.h"

#define MEMBER(name) extern const struct port_kind port_kind_##name;
#include "port_members.h"
#undef MEMBER

#define MEMBER(name) &port_kind_##name,
const struct port_kind *const port_table[] = {
#include "port_members.h"
	NULL,
};
#undef MEMBER
