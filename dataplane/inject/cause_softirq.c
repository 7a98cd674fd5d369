// Packets to be received on the core: receive packet steering hands what a socket on another CPU
// sends over loopback to the core's softirq. The loopback is that of a network namespace of our
// own, which is gone with its sockets. One datagram that the receiving side cuts into segments
// makes one softirq, long enough to be told from the interrupt that announces it.

#include "cause.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SEGMENT_LEN = 64,
	MAX_SEGMENTS = 64, // the kernel's UDP_MAX_SEGMENTS of old
	MASK_DIGITS = CPU_SETSIZE / 4 + CPU_SETSIZE / 32,
	TIMEOUT_NS = 50000000,
};

struct softirq_options {
	uint64_t segments;
};

static const struct option_spec softirq_specs[] = {
	{
		.name = "segments",
		.type = OPTION_UINT,
		.offset = offsetof(struct softirq_options, segments),
		.default_text = "64",
		.help = "of 64 bytes that the softirq of each act cuts and delivers",
		.min = 1,
		.max = MAX_SEGMENTS,
	},
};

struct softirq {
	const struct cause_env *env;
	size_t segments;
	int sender, receiver;
	uint32_t tid;
	const char *failed; // what the setup could not do; NULL: all was done
	int err;
};

// As the kernel writes and reads a mask: hexadecimal, a comma every 32 CPUs, the last word first.
static void format_mask(int core, char *text, size_t len)
{
	size_t n = 0;

	for (int word = core / 32; word >= 0 && n < len; word--)
		n += (size_t)snprintf(text + n, len - n, "%08x%s",
			word == core / 32 ? 1U << (core % 32) : 0U, word > 0 ? "," : "");
}

static bool bring_loopback_up(int fd)
{
	struct ifreq request = {.ifr_name = "lo"};

	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return false;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

static bool steer(int core)
{
	char mask[MASK_DIGITS + 1];

	format_mask(core, mask, sizeof(mask));
	int fd = open("/sys/class/net/lo/queues/rx-0/rps_cpus", O_WRONLY | O_CLOEXEC);
	bool is_done = fd >= 0 && write(fd, mask, strlen(mask)) > 0;
	if (fd >= 0)
		(void)close(fd);
	return is_done;
}

static bool connect_sockets(struct softirq *softirq)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int segment = SEGMENT_LEN;

	return bind(softirq->receiver, (struct sockaddr *)&address, len) == 0 &&
	       getsockname(softirq->receiver, (struct sockaddr *)&address, &len) == 0 &&
	       connect(softirq->sender, (struct sockaddr *)&address, len) == 0 &&
	       setsockopt(softirq->sender, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) == 0;
}

// In a thread of its own, whose namespaces nobody else sees; only the sockets stay.
static void *set_up(void *arg)
{
	struct softirq *softirq = arg;
	int type = SOCK_DGRAM | SOCK_CLOEXEC;

	softirq->failed = "a network namespace; run as root";
	if (unshare(CLONE_NEWNS | CLONE_NEWNET) < 0)
		goto out;
	softirq->failed = "its own /sys";
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("sysfs", "/sys", "sysfs", 0, NULL) < 0)
		goto out;
	softirq->failed = "sockets on its loopback";
	softirq->sender = socket(AF_INET, type, 0);
	softirq->receiver = socket(AF_INET, type | SOCK_NONBLOCK, 0);
	if (softirq->sender < 0 || softirq->receiver < 0 || !bring_loopback_up(softirq->sender) ||
		!connect_sockets(softirq))
		goto out;
	softirq->failed = "packet steering to the core; the kernel keeps it from isolated cores";
	if (steer(softirq->env->core))
		softirq->failed = NULL;
out:
	softirq->err = errno;
	return NULL;
}

static int softirq_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct softirq_options *chosen = options;
	struct softirq *softirq = state;
	pthread_t thread;

	*softirq = (struct softirq){
		.env = env,
		.segments = chosen->segments,
		.sender = -1,
		.receiver = -1,
		.tid = (uint32_t)gettid(),
	};
	int err = pthread_create(&thread, NULL, set_up, softirq);
	if (err != 0) {
		error_set(error, "softirq: no thread: %s", strerror(err));
		return -err;
	}
	pthread_join(thread, NULL);
	if (softirq->failed == NULL)
		return 0;
	error_set(error, "softirq: core %d: no %s (%s)", env->core, softirq->failed,
		strerror(softirq->err));
	return -EPERM;
}

// What an act before left when it ran out of time.
static void drain(const struct softirq *softirq)
{
	char got[SEGMENT_LEN];

	while (recv(softirq->receiver, got, sizeof(got), 0) >= 0) {
	}
}

// Noted is the time from before it was sent until all was received, or as long as was waited.
static int softirq_once(void *state)
{
	struct softirq *softirq = state;
	const struct cause_env *env = softirq->env;
	static const char data[MAX_SEGMENTS * SEGMENT_LEN];
	uint64_t timeout_ticks = clock_ticks(TIMEOUT_NS, env->tsc_hz);
	char got[SEGMENT_LEN];
	size_t n = 0;

	if (!cause_finds_victim(env))
		return 0;
	drain(softirq);
	uint64_t start = clock_tsc();
	if (send(softirq->sender, data, softirq->segments * SEGMENT_LEN, 0) < 0)
		return -errno;
	uint64_t end = clock_tsc();
	while (n < softirq->segments && end - start < timeout_ticks) {
		if (recv(softirq->receiver, got, sizeof(got), 0) >= 0)
			n++;
		else
			cause_wait(env, start);
		end = clock_tsc();
	}
	injection_log_add(env->log, start, end, softirq->tid, n);
	return 1;
}

static int softirq_fini(void *state, struct error *error)
{
	struct softirq *softirq = state;

	if (softirq->env == NULL)
		return 0;
	if (softirq->sender >= 0)
		(void)close(softirq->sender);
	if (softirq->receiver >= 0)
		(void)close(softirq->receiver);
	return 0;
}

const struct cause_ops cause_softirq = {
	.name = "softirq",
	.summary = "the core receives UDP that another CPU sends over a loopback of its own",
	.arg = "segments received",
	.options = softirq_specs,
	.n_options = sizeof(softirq_specs) / sizeof(softirq_specs[0]),
	.options_size = sizeof(struct softirq_options),
	.state_size = sizeof(struct softirq),
	.takes_other = true,
	.sends_ipi = true,
	.init = softirq_init,
	.once = softirq_once,
	.fini = softirq_fini,
};
