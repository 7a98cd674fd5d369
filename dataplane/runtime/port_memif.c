// Shared-memory packet rings between two processes, DPDK's or others'. One end listens on a Unix
// socket (server), the other connects (client).

#include "port_kind.h"
#include "unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum memif_role {
	MEMIF_AUTO,
	MEMIF_SERVER,
	MEMIF_CLIENT,
};

struct memif_options {
	uint32_t role;
	uint64_t id, rsize;
};

static const char *const roles[] = {"auto", "server", "client", NULL};

static const struct option_spec memif_specs[] = {
	{
		.name = "role",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct memif_options, role),
		.default_text = "auto",
		.help = "who listens on the socket; auto: the device under test",
		.choices = roles,
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

	if (options->role == MEMIF_AUTO)
		return spec->side == PORT_DEVICE;
	return options->role == MEMIF_SERVER;
}

// A bare name is a socket in taut's own run folder (Python's is testbed/run_folder.py); anything
// with a slash is a path.
static void socket_folder(char *out, size_t len)
{
	const char *run_dir = getenv("TAUT_RUN_DIR");
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (run_dir != NULL && *run_dir != '\0')
		snprintf(out, len, "%s", run_dir);
	else if (geteuid() == 0)
		snprintf(out, len, "/run/taut");
	else if (runtime != NULL && *runtime != '\0')
		snprintf(out, len, "%s/taut", runtime);
	else
		snprintf(out, len, "/tmp/taut-%u", (unsigned int)geteuid());
}

static int socket_path(const struct port_spec *spec, struct sockaddr_un *out, struct error *error)
{
	char path[2 * PORT_TEXT_MAX + 64];

	if (strchr(spec->name, '/') != NULL) {
		snprintf(path, sizeof(path), "%s", spec->name);
	} else {
		char folder[PORT_TEXT_MAX];
		socket_folder(folder, sizeof(folder));
		snprintf(path, sizeof(path), "%s/%s.sock", folder, spec->name);
	}
	if (strlen(path) >= sizeof(out->sun_path))
		return port_fail(spec, -ENAMETOOLONG, error,
			"%s: a socket's path has at most %zu characters; choose a shorter one",
			path, sizeof(out->sun_path) - 1);
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	strcpy(out->sun_path, path);
	return 0;
}

// Make taut's own folder, or see that the one that is there is this user's alone: whoever else may
// put sockets into it would be the other end of the link.
static int check_own_folder(const struct port_spec *spec, const char *folder, struct error *error)
{
	struct stat found;

	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return port_fail(spec, -errno, error,
			"folder %s cannot be made: %s; set TAUT_RUN_DIR", folder, strerror(errno));
	if (lstat(folder, &found) < 0)
		return port_fail(spec, -errno, error, "folder %s: %s", folder, strerror(errno));
	if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
		(found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return port_fail(spec, -EPERM, error,
			"folder %s is not this user's alone (a link, another owner, or others may "
			"write); set TAUT_RUN_DIR to one that is",
			folder);
	return 0;
}

// A bare name's folder is made; of a path given in full it must be there.
static int check_folder(
	const struct port_spec *spec, const struct sockaddr_un *address, struct error *error)
{
	char folder[sizeof(address->sun_path)];
	char *slash;
	int err = 0;

	snprintf(folder, sizeof(folder), "%s", address->sun_path);
	slash = strrchr(folder, '/');
	if (slash == folder)
		return 0;
	*slash = '\0';
	if (strchr(spec->name, '/') == NULL)
		err = check_own_folder(spec, folder, error);
	if (err < 0)
		return err;
	if (access(folder, is_server(spec) ? W_OK | X_OK : X_OK) < 0)
		return port_fail(spec, -errno, error, "folder %s: %s; make it, or name another",
			folder, strerror(errno));
	return 0;
}

// The file of a dead listener is removed.
static int check_listener(
	const struct port_spec *spec, const struct sockaddr_un *address, struct error *error)
{
	struct stat found;

	if (lstat(address->sun_path, &found) < 0)
		return errno == ENOENT ? 0
				       : port_fail(spec, -errno, error, "%s: %s", address->sun_path,
						 strerror(errno));
	if (!S_ISSOCK(found.st_mode))
		return port_fail(spec, -EEXIST, error,
			"%s is there and is no socket; remove it, or name another",
			address->sun_path);
	if (unix_socket_is_listening(address->sun_path))
		return port_fail(spec, -EADDRINUSE, error,
			"socket %s is in use by another process; stop it, or name another",
			address->sun_path);
	if (unlink(address->sun_path) < 0 && errno != ENOENT)
		return port_fail(spec, -errno, error,
			"%s, left by a dead process, cannot be removed: %s", address->sun_path,
			strerror(errno));
	return 0;
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
	err = check_folder(spec, &address, error);
	if (err < 0 || listening || !is_server(spec))
		return err;
	return check_listener(spec, &address, error);
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

// Memory and connection go with the process, and the peer is told as if it were closed.
static void memif_leave(const struct port_spec *spec)
{
	struct sockaddr_un address;
	struct error error = {0};

	if (is_server(spec) && socket_path(spec, &address, &error) == 0)
		(void)unlink(address.sun_path);
}

const struct port_kind port_kind_memif = {
	.name = "memif",
	.summary = "shared memory with another process; NAME is a socket in taut's run folder, or "
		   "a path",
	.driver = "net_memif",
	.options = memif_specs,
	.n_options = sizeof(memif_specs) / sizeof(memif_specs[0]),
	.options_size = sizeof(struct memif_options),
	.starts_with_peer = true, // as a client
	.cost = PORT_COST_USER_SPACE,
	.n_mbufs = 1024,
	.check = memif_check,
	.devargs = memif_devargs,
	.leave = memif_leave,
	.open_remedy = "is its socket in use, or its folder not writable?",
};
