#include "eal.h"

#include "cpu_list.h"
#include "eal_restart.h"
#include "lcore.h"
#include "log.h"
#include "port_kind.h"

#include <rte_eal.h>
#include <rte_errno.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define HUGEPAGES "/sys/kernel/mm/hugepages/hugepages-"

enum {
	MAX_ARGS = 256,
	LEAST_OF_VECTORS = 8, // packets: what a vector receive function asks for at once
	MAX_ARG_LEN = 96, // of those made here; the user's are as long as they are
};

struct arguments {
	char *items[MAX_ARGS]; // one stays NULL, as argv ends
	char texts[MAX_ARGS][MAX_ARG_LEN];
	int n; // MAX_ARGS: there are more
};

static void add_word(struct arguments *arguments, char *word)
{
	if (arguments->n < MAX_ARGS - 1)
		arguments->items[arguments->n] = word;
	if (arguments->n < MAX_ARGS)
		arguments->n++;
}

__attribute__((format(printf, 2, 3))) static void add(
	struct arguments *arguments, const char *format, ...)
{
	va_list args;

	if (arguments->n < MAX_ARGS) {
		va_start(args, format);
		vsnprintf(arguments->texts[arguments->n], MAX_ARG_LEN, format, args);
		va_end(args);
		add_word(arguments, arguments->texts[arguments->n]);
	}
}

// Locks the kernel's count of free huge pages until it is closed: between the count and EAL's
// taking them, no other program of taut counts. -1: this kernel has none.
static int lock_hugepages(void)
{
	int fd = open(HUGEPAGES "2048kB/free_hugepages", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)flock(fd, LOCK_EX);
	return fd;
}

static unsigned int read_count(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned int n = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%u", &n) != 1)
		n = 0;
	fclose(file);
	return n;
}

// Free huge pages of a size. Pages mapped but not yet touched are counted as free, too.
static unsigned int free_mb(unsigned int page_kb)
{
	char path[128];

	snprintf(path, sizeof(path), HUGEPAGES "%ukB/free_hugepages", page_kb);
	unsigned int n_free = read_count(path);
	snprintf(path, sizeof(path), HUGEPAGES "%ukB/resv_hugepages", page_kb);
	unsigned int n_reserved = read_count(path);
	return n_free > n_reserved ? (n_free - n_reserved) * (page_kb >> 10) : 0;
}

static bool has_extra(const struct eal_config *config, const char *option)
{
	size_t len = strlen(option);

	for (int i = 0; i < config->n_extra; i++) {
		const char *extra = config->extra[i];
		if (strncmp(extra, option, len) == 0 && (extra[len] == '\0' || extra[len] == '='))
			return true;
	}
	return false;
}

static bool choose_hugepages(const struct eal_config *config)
{
	unsigned int wanted_mb = config->memory_mb + config->tables_mb;
	// Where small ones do not suffice EAL takes a large one.
	unsigned int available_mb = free_mb(2048) + free_mb(1048576);

	if (has_extra(config, "--no-huge"))
		return false;
	if (getenv(eal_small_pages_variable) != NULL) {
		LOG(WARNING, "memory: the free huge pages went to another program; running on 4 kB "
			     "pages, which costs TLB misses: more jitter, lower maximum rate");
		return false;
	}
	if (geteuid() == 0 && available_mb >= wanted_mb)
		return true;
	LOG(WARNING,
		"memory: %u MB of free huge pages, %u wanted%s; running on 4 kB pages, which costs "
		"TLB misses: more jitter, lower maximum rate%s",
		available_mb, wanted_mb, geteuid() == 0 ? "" : ", and not root",
		geteuid() == 0 ? "; reserve some by vm.nr_hugepages" : "");
	return false;
}

int eal_check_core(int core, struct error *error)
{
	cpu_set_t allowed, one;
	char list[128];

	if (cpu_list_allowed(&allowed) < 0)
		return 0;
	if (core < 0)
		return 0;
	if (core < CPU_SETSIZE) {
		CPU_ZERO(&one);
		CPU_SET((size_t)core, &one);
		// The kernel knows best: it also refuses cores of other cpusets.
		if (sched_setaffinity(0, sizeof(one), &one) == 0) {
			(void)sched_setaffinity(0, sizeof(allowed), &allowed);
			return 0;
		}
	}
	error_set(error, "core %d: not a core of this machine or its cpuset; it has %s", core,
		cpu_list_format(&allowed, list, sizeof(list)));
	return -EINVAL;
}

static int last_allowed_core(void)
{
	cpu_set_t allowed;
	int last = 0;

	if (cpu_list_allowed(&allowed) < 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, &allowed))
			last = cpu;
	return last;
}

// --in-memory leaves nothing behind but does not go with --no-huge; --no-shconf does, and leaves
// an empty runtime folder, which eal_stop removes: hence a prefix of its own.
static void add_memory(
	const struct eal_config *config, const struct eal *eal, struct arguments *arguments)
{
	const char *run = getenv("TAUT_RUN");

	if (!eal->hugepages && !has_extra(config, "--no-huge"))
		add(arguments, "--no-huge");
	add(arguments, eal->hugepages ? "--in-memory" : "--no-shconf");
	add(arguments, "-m");
	// EAL lets no mbuf cross a page: on pages of 4 kB each takes a whole one.
	add(arguments, "%u",
		(eal->hugepages ? config->memory_mb : 2 * config->memory_mb) + config->tables_mb);
	add(arguments, "--file-prefix");
	if (run != NULL && *run != '\0')
		add(arguments, "taut-%.8s-%d", run, (int)getpid());
	else
		add(arguments, "taut-%d", (int)getpid());
}

// Else each page is a file of its own, and a peer takes eight.
static void add_shared_memory(const struct eal_config *config, struct arguments *arguments)
{
	for (size_t i = 0; i < config->n_ports; i++)
		if (config->ports[i].kind->shares_memory) {
			add(arguments, "--single-file-segments");
			return;
		}
}

static void add_devices(const struct eal_config *config, struct arguments *arguments)
{
	bool with_pci = false;

	for (size_t i = 0; i < config->n_ports; i++) {
		if (!config->ports[i].kind->is_pci)
			continue;
		with_pci = true;
		add(arguments, "-a");
		add(arguments, "%s", config->ports[i].name);
	}
	if (!with_pci)
		add(arguments, "--no-pci");
	// Vector receive functions round the number asked for down to fours or eights, and of fewer
	// give none (i40e_rxtx_vec_avx2.c, ixgbe_rxtx_vec_sse.c, mlx5_rxtx_vec.c of DPDK 22.11).
	else if (config->burst > 0 && config->burst < LEAST_OF_VECTORS &&
		 !has_extra(config, "--force-max-simd-bitwidth"))
		add(arguments, "--force-max-simd-bitwidth=64");
}

// Only if empty, and only a folder of this process: the prefix holds its id.
static void remove_runtime_dir(struct eal *eal)
{
	if (strstr(eal->runtime_dir, "taut-") != NULL)
		(void)rmdir(eal->runtime_dir);
	eal->runtime_dir[0] = '\0';
}

static bool is_gone(const char *pid_text)
{
	char *end;
	long pid = strtol(pid_text, &end, 10);

	return pid > 0 && *end == '\0' && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

// What killed programs of taut left beside it. Nothing of a living one is lost even if it is in
// another PID namespace: only empty folders go.
static void remove_dead_runtime_dirs(const struct eal *eal)
{
	char folder[sizeof(eal->runtime_dir)];
	struct dirent *entry;

	snprintf(folder, sizeof(folder), "%s", eal->runtime_dir);
	char *slash = strrchr(folder, '/');
	if (slash == NULL)
		return;
	*slash = '\0';
	DIR *dir = opendir(folder);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, "taut-", 5) == 0 &&
			is_gone(strrchr(entry->d_name, '-') + 1))
			(void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	closedir(dir);
}

int eal_start(const struct eal_config *config, struct eal *out, struct error *error)
{
	struct arguments arguments = {0};
	int err = eal_check_core(config->core, error);

	if (err < 0)
		return err;
	int hugepages_fd = lock_hugepages();
	*out = (struct eal){
		.core = config->core >= 0 ? config->core : last_allowed_core(),
		.hugepages = choose_hugepages(config),
	};
	add(&arguments, "%s", config->program);
	add(&arguments, "--lcores=%d@%d", lcore_of(out->core, LCORE_NODES), out->core);
	add(&arguments, "--no-telemetry");
	// What goes wrong is said once, by main.
	add(&arguments, "--log-level=*:critical");
	add_memory(config, out, &arguments);
	if (out->hugepages) // small pages are one file anyway
		add_shared_memory(config, &arguments);
	add_devices(config, &arguments);
	for (int i = 0; i < config->n_extra; i++)
		add_word(&arguments, config->extra[i]);
	if (arguments.n == MAX_ARGS) {
		if (hugepages_fd >= 0)
			close(hugepages_fd);
		error_set(error, "EAL: %d options behind `--` are too many; leave some out",
			config->n_extra);
		return -E2BIG;
	}

	bool started = rte_eal_init(arguments.n, arguments.items) >= 0;
	err = rte_errno > 0 ? rte_errno : EIO;
	if (hugepages_fd >= 0)
		close(hugepages_fd);
	snprintf(out->runtime_dir, sizeof(out->runtime_dir), "%s", rte_eal_get_runtime_dir());
	remove_dead_runtime_dirs(out);
	if (started)
		return 0;
	error_set(error, "EAL: %s; add `-- --log-level=*:debug` to see why", rte_strerror(err));
	remove_runtime_dir(out);
	// Pages that were free a moment ago were taken, or given back, by another program.
	if (out->hugepages && (err == ENOMEM || err == EACCES))
		(void)eal_restart_on_small_pages();
	return -err;
}

// EAL itself is left to the end of the process: rte_eal_cleanup() unmaps memory that EAL's own
// interrupt thread, which nothing stops, still reads when the closing of a port has just woken it
// (one exit in forty on a busy machine). The kernel takes back what it would have: pages, of files
// unlinked or anonymous (add_memory), and descriptors. Ports are closed before.
void eal_stop(struct eal *eal)
{
	remove_runtime_dir(eal);
}

const char *eal_memory(const struct eal *eal)
{
	return eal->hugepages ? "hugepages" : "no-huge";
}
