// Shared-memory packet rings between two processes, DPDK's or others'. One end listens on a Unix
// socket (server), the other connects (client).

#include "port_socket.h"

#include <errno.h>
#include <string.h>

struct memif_options {
	uint32_t role;
	uint64_t id, rsize;
};

static const struct option_spec memif_specs[] = {
	{
		.name = "role",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct memif_options, role),
		.default_text = "auto",
		.help = SOCKET_ROLE_HELP,
		.choices = socket_roles,
	},
	{
		.name = "id",
		.type = OPTION_UINT,
		.offset = offsetof(struct memif_options, id),
		.default_text = "0",
		.help = "number of the link on that socket",
		.max = UINT32_MAX,
	},
	{
		.name = "rsize",
		.type = OPTION_UINT,
		.offset = offsetof(struct memif_options, rsize),
		.default_text = "10",
		.help = "log2 of the ring size; the client's counts",
		.min = 1,
		.max = 14,
	},
};

static bool is_server(const struct port_spec *spec)
{
	const struct memif_options *options = (const void *)spec->options;

	return socket_is_server(spec, options->role);
}

static bool memif_needs_peer(const struct port_spec *spec)
{
	return !is_server(spec);
}

static int memif_check(const struct port_spec *spec, const struct port_spec *earlier,
	size_t n_earlier, struct error *error)
{
	const struct memif_options *options = (const void *)spec->options;
	struct sockaddr_un address, other;
	bool listening = false;
	int err = socket_path(spec, &address, error);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n_earlier; i++) {
		const struct memif_options *theirs = (const void *)earlier[i].options;
		if (earlier[i].kind != spec->kind || socket_path(&earlier[i], &other, error) < 0 ||
			strcmp(other.sun_path, address.sun_path) != 0)
			continue;
		listening |= is_server(&earlier[i]);
		if (theirs->id == options->id && is_server(&earlier[i]) == is_server(spec))
			return port_fail(spec, -EADDRINUSE, error,
				"the same socket, id and role as %s; give it another id=",
				earlier[i].text);
		if (is_server(spec) && !is_server(&earlier[i]))
			return port_fail(spec, -EINVAL, error,
				"its client %s comes first; name the server first",
				earlier[i].text);
	}
	err = socket_check_folder(spec, &address, is_server(spec), error);
	if (err < 0 || listening || !is_server(spec))
		return err;
	return socket_check_listener(spec, &address, error);
}

static int memif_devargs(
	const struct port_spec *spec, char *out, size_t out_len, struct error *error)
{
	const struct memif_options *options = (const void *)spec->options;
	struct sockaddr_un address;
	int err = socket_path(spec, &address, error);

	if (err < 0)
		return err;
	// Not abstract: other programs' memif and vhost sockets are files, and files can be found
	// after a crash.
	snprintf(out, out_len, "role=%s,id=%u,rsize=%u,socket=%s,socket-abstract=no",
		is_server(spec) ? "server" : "client", (unsigned int)options->id,
		(unsigned int)options->rsize, address.sun_path);
	return 0;
}

static uint16_t memif_ring_size(const struct port_spec *spec)
{
	const struct memif_options *options = (const void *)spec->options;

	return (uint16_t)(1U << options->rsize);
}

static void memif_leave(const struct port_spec *spec)
{
	const struct memif_options *options = (const void *)spec->options;

	socket_leave(spec, options->role);
}

const struct port_kind port_kind_memif = {
	.name = "memif",
	.summary = "shared memory with another process; NAME is a socket in taut's run folder, or "
		   "a path",
	.driver = "net_memif",
	.options = memif_specs,
	.n_options = sizeof(memif_specs) / sizeof(memif_specs[0]),
	.options_size = sizeof(struct memif_options),
	.cost = PORT_COST_USER_SPACE,
	.n_mbufs = 1024,
	.ring_size = memif_ring_size,
	.check = memif_check,
	.devargs = memif_devargs,
	.needs_peer = memif_needs_peer,
	.leave = memif_leave,
	.open_remedy = "is its socket in use, or its folder not writable?",
};
