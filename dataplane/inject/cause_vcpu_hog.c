// A thread beside a vCPU's on the host of a KVM guest: what the guest sees is stolen time with no
// event in it. Times are the host's clock, which the guest's is shifted against.

#include "occupy.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct vcpu_hog_options {
	uint64_t length_ns;
};

static const struct option_spec vcpu_hog_specs[] = {
	{
		.name = "length",
		.type = OPTION_DURATION,
		.offset = offsetof(struct vcpu_hog_options, length_ns),
		.default_text = "1ms",
		.help = "how long it spins",
		.min = 1000,
		.max = 50000000,
	},
};

// QEMU names the threads of its vCPUs "CPU 0/KVM"; Firecracker "fc_vcpu 0"; cloud-hypervisor
// "vcpu0".
static int check_is_vcpu(pid_t tid, struct error *error)
{
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
	if (fd >= 0)
		(void)close(fd);
	name[strcspn(name, "\n")] = '\0';
	if (n > 0 && (strstr(name, "/KVM") != NULL || strstr(name, "vcpu") != NULL))
		return 0;
	error_set(error,
		"--victim %d: \"%s\" is no thread of a vCPU; vcpu-hog works on the host of a KVM "
		"guest, where ps -eLo tid,comm shows \"CPU 0/KVM\"",
		tid, name);
	return -EINVAL;
}

static int vcpu_hog_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct vcpu_hog_options *chosen = options;
	struct occupy *occupy = state;
	cpu_set_t allowed;
	int err = check_is_vcpu(env->victim_pid, error);

	if (err < 0)
		return err;
	if (sched_getaffinity(env->victim_pid, sizeof(allowed), &allowed) < 0 ||
		!CPU_ISSET((size_t)env->core, &allowed)) {
		error_set(error,
			"--core %d: the vCPU's thread %d may not run there; pin it or name its "
			"core",
			env->core, env->victim_pid);
		return -EINVAL;
	}
	*occupy = (struct occupy){
		.env = env, .length_ticks = clock_ticks(chosen->length_ns, env->tsc_hz)};
	return 0;
}

static int vcpu_hog_once(void *state)
{
	return occupy_once(state);
}

const struct cause_ops cause_vcpu_hog = {
	.name = "vcpu-hog",
	.summary = "on a KVM host: a thread takes the core of a vCPU's thread (--victim TID)",
	.options = vcpu_hog_specs,
	.n_options = sizeof(vcpu_hog_specs) / sizeof(vcpu_hog_specs[0]),
	.options_size = sizeof(struct vcpu_hog_options),
	.state_size = sizeof(struct occupy),
	.place = CAUSE_ON_CORE,
	.victim = CAUSE_NEEDS_VICTIM,
	.takes_other = true,
	.fifo_priority = 1,
	.init = vcpu_hog_init,
	.once = vcpu_hog_once,
};
