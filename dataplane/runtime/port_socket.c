#include "port_socket.h"

#include "unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const socket_roles[] = {"auto", "server", "client", NULL};

const struct option_spec socket_specs[N_SOCKET_SPECS] = {
	{
		.name = "role",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct socket_options, role),
		.default_text = "auto",
		.help = SOCKET_ROLE_HELP,
		.choices = socket_roles,
	},
};

bool socket_is_server(const struct port_spec *spec, uint32_t role)
{
	return role == SOCKET_AUTO ? spec->side == PORT_DEVICE : role == SOCKET_SERVER;
}

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

int socket_path(const struct port_spec *spec, struct sockaddr_un *out, struct error *error)
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

int socket_check_folder(const struct port_spec *spec, const struct sockaddr_un *address,
	bool is_server, struct error *error)
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
	if (access(folder, is_server ? W_OK | X_OK : X_OK) < 0)
		return port_fail(spec, -errno, error, "folder %s: %s; make it, or name another",
			folder, strerror(errno));
	return 0;
}

int socket_check_listener(
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

void socket_leave(const struct port_spec *spec, uint32_t role)
{
	struct sockaddr_un address;
	struct error error = {0};

	if (socket_is_server(spec, role) && socket_path(spec, &address, &error) == 0)
		(void)unlink(address.sun_path);
}

static bool listens(const struct port_spec *spec)
{
	const struct socket_options *options = (const void *)spec->options;

	return socket_is_server(spec, options->role);
}

int socket_check(const struct port_spec *spec, const struct port_spec *earlier, size_t n_earlier,
	struct error *error)
{
	struct sockaddr_un address, other;
	bool listening = false;
	int err = socket_path(spec, &address, error);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n_earlier; i++) {
		if (earlier[i].kind->check != socket_check ||
			socket_path(&earlier[i], &other, error) < 0 ||
			strcmp(other.sun_path, address.sun_path) != 0)
			continue;
		if (earlier[i].kind == spec->kind || listens(&earlier[i]) == listens(spec))
			return port_fail(spec, -EADDRINUSE, error,
				"the socket of %s; each link needs its own", earlier[i].text);
		listening |= listens(&earlier[i]);
	}
	err = socket_check_folder(spec, &address, listens(spec), error);
	if (err < 0 || listening || !listens(spec))
		return err;
	return socket_check_listener(spec, &address, error);
}

void socket_leave_port(const struct port_spec *spec)
{
	const struct socket_options *options = (const void *)spec->options;

	socket_leave(spec, options->role);
}
