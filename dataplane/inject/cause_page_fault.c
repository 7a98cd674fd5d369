// The polling thread touches a page it gave back: the kernel finds it a new one. The pages are of
// one region, given back at once after all have been touched: to give back each alone would be a
// system call an act.

#include "cause.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	N_PAGES = 4096,
	TIMEOUT_NS = 100000000,
};

struct page_fault_options {
	uint64_t pages;
};

static const struct option_spec page_fault_specs[] = {
	{
		.name = "pages",
		.type = OPTION_UINT,
		.offset = offsetof(struct page_fault_options, pages),
		.default_text = "1",
		.help = "touched in each act",
		.min = 1,
		.max = N_PAGES,
	},
};

struct page_fault {
	const struct cause_env *env;
	volatile char *memory; // NULL: none yet
	size_t page_len;
	size_t n_touched; // since they were given back
	size_t pages; // an act
	uint64_t start_tsc, end_tsc;
};

// By the poller.
static void give_back(struct page_fault *fault)
{
	(void)madvise((void *)fault->memory, N_PAGES * fault->page_len, MADV_DONTNEED);
	fault->n_touched = 0;
}

// By the poller.
static void touch(void *arg)
{
	struct page_fault *fault = arg;

	if (fault->n_touched + fault->pages > N_PAGES)
		give_back(fault);
	uint64_t start = clock_tsc();
	for (size_t i = 0; i < fault->pages; i++)
		fault->memory[fault->n_touched++ * fault->page_len] = 1;
	fault->start_tsc = start;
	fault->end_tsc = clock_tsc();
}

static int page_fault_init(
	void *state, const void *options, const struct cause_env *env, struct error *error)
{
	const struct page_fault_options *chosen = options;
	struct page_fault *fault = state;

	*fault = (struct page_fault){
		.env = env,
		.pages = chosen->pages,
		.page_len = (size_t)sysconf(_SC_PAGESIZE),
	};
	void *memory = mmap(NULL, N_PAGES * fault->page_len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		error_set(error, "page-fault: out of memory");
		return -ENOMEM;
	}
	fault->memory = memory;
	// One fault a page, whatever the machine's setting of huge pages.
	(void)madvise(memory, N_PAGES * fault->page_len, MADV_NOHUGEPAGE);
	return 0;
}

static int page_fault_once(void *state)
{
	struct page_fault *fault = state;
	const struct cause_env *env = fault->env;
	uint64_t timeout_ticks = clock_ticks(TIMEOUT_NS, env->tsc_hz);

	if (!poller_call(env->poller, touch, fault, timeout_ticks))
		return 0;
	injection_log_add(env->log, fault->start_tsc, fault->end_tsc,
		(uint32_t)poller_tid(env->poller), fault->pages);
	return 1;
}

static int page_fault_fini(void *state, struct error *error)
{
	struct page_fault *fault = state;

	if (fault->memory != NULL)
		(void)munmap((void *)fault->memory, N_PAGES * fault->page_len);
	return 0;
}

const struct cause_ops cause_page_fault = {
	.name = "page-fault",
	.summary = "the polling thread touches a page it gave back (MADV_DONTNEED)",
	.arg = "pages",
	.options = page_fault_specs,
	.n_options = sizeof(page_fault_specs) / sizeof(page_fault_specs[0]),
	.options_size = sizeof(struct page_fault_options),
	.state_size = sizeof(struct page_fault),
	.init = page_fault_init,
	.once = page_fault_once,
	.fini = page_fault_fini,
};
