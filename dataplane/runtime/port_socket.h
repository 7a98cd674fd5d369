#pragma once

// What kinds share whose two ends meet at a Unix socket: memif, virtio, vhost. One end listens
// (server), the other connects (client).

#include "port_kind.h"

#include <stdbool.h>
#include <sys/un.h>

enum socket_role {
	SOCKET_AUTO,
	SOCKET_SERVER,
	SOCKET_CLIENT,
};

// The choices of an option role, in the order of enum socket_role.
extern const char *const socket_roles[];

#define SOCKET_ROLE_HELP "who listens on the socket; auto: the device under test"

// Whether this end listens, by its option.
bool socket_is_server(const struct port_spec *spec, uint32_t role);

// Where the socket is: a bare name lies in taut's own run folder (Python's is
// testbed/run_folder.py), anything with a slash is a path. Returns 0 or -errno with one line in
// error.
int socket_path(const struct port_spec *spec, struct sockaddr_un *out, struct error *error);

// That the folder is there and this user's own; the one of a bare name is made. Returns 0 or -errno
// with one line in error.
int socket_check_folder(const struct port_spec *spec, const struct sockaddr_un *address,
	bool is_server, struct error *error);

// Of one that listens: that nobody else does. The file of a dead listener is removed. Returns 0 or
// -errno with one line in error.
int socket_check_listener(
	const struct port_spec *spec, const struct sockaddr_un *address, struct error *error);

// For port_kind.leave: remove the file of one that listens. Memory and connection go with the
// process, and the peer is told as if it were closed.
void socket_leave(const struct port_spec *spec, uint32_t role);

// For kinds whose options are struct socket_options and whose every socket is one link: check,
// devargs' beginning and leave.
struct socket_options {
	uint32_t role;
};

enum { N_SOCKET_SPECS = 1 };
extern const struct option_spec socket_specs[N_SOCKET_SPECS];

int socket_check(const struct port_spec *spec, const struct port_spec *earlier, size_t n_earlier,
	struct error *error);
void socket_leave_port(const struct port_spec *spec);
