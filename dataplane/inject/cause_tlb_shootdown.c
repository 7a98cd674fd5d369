// A sibling thread gives memory back that it has touched: the kernel interrupts every CPU that runs
// a thread of the process, and waits for it, to have the addresses forgotten.

#include "cause.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

struct tlb_shootdown_options {
	uint64_t pages;
};

static const struct option_spec tlb_shootdown_specs[] = {
	{
		.name = "pages",
		.type = OPTION_UINT,
		.offset = offsetof(struct tlb_shootdown_options, pages),
		.default_text = "8",
		.help = "touched and given back in each act",
		.min = 1,
		.max = 4096,
	},
};

struct tlb_shootdown {
	const struct cause_env *env;
	size_t len;
	uint32_t tid;
};

static int tlb_shootdown_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct tlb_shootdown_options *chosen = options;
	struct tlb_shootdown *shootdown = state;

	*shootdown = (struct tlb_shootdown){
		.env = env,
		.len = chosen->pages * (size_t)sysconf(_SC_PAGESIZE),
		.tid = (uint32_t)gettid(),
	};
	return 0;
}

// Only the munmap is the act: it alone sends, and everything before it may take its time.
static int tlb_shootdown_once(void *state)
{
	struct tlb_shootdown *shootdown = state;
	const struct cause_env *env = shootdown->env;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *memory = mmap(
		NULL, shootdown->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	for (size_t at = 0; at < shootdown->len; at += page)
		memory[at] = 1;
	bool is_found = cause_finds_victim(env);
	uint64_t start = clock_tsc();
	(void)munmap((void *)memory, shootdown->len);
	if (is_found)
		injection_log_add(
			env->log, start, clock_tsc(), shootdown->tid, shootdown->len / page);
	return is_found;
}

const struct cause_ops cause_tlb_shootdown = {
	.name = "tlb-shootdown",
	.summary = "a sibling thread on another CPU unmaps pages it has touched",
	.arg = "pages",
	.options = tlb_shootdown_specs,
	.n_options = sizeof(tlb_shootdown_specs) / sizeof(tlb_shootdown_specs[0]),
	.options_size = sizeof(struct tlb_shootdown_options),
	.state_size = sizeof(struct tlb_shootdown),
	.sends_ipi = true,
	.init = tlb_shootdown_init,
	.once = tlb_shootdown_once,
};
