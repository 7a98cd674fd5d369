#include "event_table.h"

#include <errno.h>
#include <string.h>

#define VECTOR(name_, vector_)                                                                     \
	{.name = "irq_vectors/" name_ "_entry",                                                    \
		.group = GROUP_VECTORS,                                                            \
		.kind = EVENT_VECTOR_ENTRY,                                                        \
		.args = {{.constant = (vector_)}, {.low = "vector"}}},                             \
	{                                                                                          \
		.name = "irq_vectors/" name_ "_exit", .group = GROUP_VECTORS,                      \
		.kind = EVENT_VECTOR_EXIT, .args = {{.constant = (vector_)}, {.low = "vector"}},   \
	}

const struct event_row event_rows[] = {
	{.name = "irq/irq_handler_entry",
		.group = GROUP_IRQ,
		.kind = EVENT_IRQ_ENTRY,
		.args = {{.low = "irq"}},
		.names = {.irq = "irq", .irq_name = "name"}},
	{.name = "irq/irq_handler_exit",
		.group = GROUP_IRQ,
		.kind = EVENT_IRQ_EXIT,
		.args = {{.low = "irq"}}},
	VECTOR("local_timer", VECTOR_LOCAL_TIMER),
	VECTOR("reschedule", VECTOR_RESCHEDULE),
	VECTOR("call_function", VECTOR_CALL_FUNCTION),
	VECTOR("call_function_single", VECTOR_CALL_FUNCTION_SINGLE),
	VECTOR("irq_work", VECTOR_IRQ_WORK),
	VECTOR("thermal_apic", VECTOR_THERMAL),
	VECTOR("threshold_apic", VECTOR_THRESHOLD),
	VECTOR("deferred_error_apic", VECTOR_DEFERRED_ERROR),
	VECTOR("error_apic", VECTOR_ERROR),
	VECTOR("spurious_apic", VECTOR_SPURIOUS),
	VECTOR("x86_platform_ipi", VECTOR_PLATFORM),
	{.name = "irq/softirq_entry",
		.group = GROUP_SOFTIRQ,
		.kind = EVENT_SOFTIRQ_ENTRY,
		.args = {{.low = "vec"}}},
	{.name = "irq/softirq_exit",
		.group = GROUP_SOFTIRQ,
		.kind = EVENT_SOFTIRQ_EXIT,
		.args = {{.low = "vec"}}},
	{.name = "napi/napi_poll",
		.group = GROUP_NAPI,
		.kind = EVENT_NAPI_POLL,
		.args = {{.low = "work", .high = "budget"}, {.low = "napi"}}},
	{.name = "timer/hrtimer_expire_entry",
		.group = GROUP_TIMER,
		.kind = EVENT_TIMER_ENTRY,
		.args = {{.low = "function"}, {.low = "hrtimer"}},
		.names = {.functions = 1}},
	{.name = "timer/hrtimer_expire_exit",
		.group = GROUP_TIMER,
		.kind = EVENT_TIMER_EXIT,
		.args = {{0}, {.low = "hrtimer"}}},
	{.name = "timer/timer_expire_entry",
		.group = GROUP_TIMER,
		.kind = EVENT_TIMER_ENTRY,
		.args = {{.low = "function"}, {.low = "timer"}},
		.names = {.functions = 1}},
	{.name = "timer/timer_expire_exit",
		.group = GROUP_TIMER,
		.kind = EVENT_TIMER_EXIT,
		.args = {{0}, {.low = "timer"}}},
	{.name = "csd/csd_queue_cpu",
		.group = GROUP_CALLS,
		.kind = EVENT_CALL_QUEUE,
		.scope = SCOPE_TARGET,
		.target = "cpu",
		.args = {{.low = "csd"}, {.low = "func"}},
		.names = {.thread = "common_pid", .functions = 2}},
	{.name = "csd/csd_function_entry",
		.group = GROUP_CALLS,
		.kind = EVENT_CALL_ENTRY,
		.args = {{.low = "csd"}, {.low = "func"}},
		.names = {.functions = 2}},
	{.name = "csd/csd_function_exit",
		.group = GROUP_CALLS,
		.kind = EVENT_CALL_EXIT,
		.args = {{.low = "csd"}, {.low = "func"}},
		.names = {.functions = 2}},
	{.name = "ipi/ipi_send_cpu",
		.group = GROUP_IPI,
		.kind = EVENT_IPI_SEND_FOR,
		.scope = SCOPE_TARGET,
		.target = "cpu",
		.args = {{.low = "cpu", .high = "callsite"}, {.low = "callback"}},
		.names = {.thread = "common_pid", .callsite = "callsite", .functions = 2}},
	{.name = "ipi/ipi_send_cpumask",
		.group = GROUP_IPI,
		.kind = EVENT_IPI_SEND_FOR,
		.scope = SCOPE_TARGET,
		.target = "cpumask",
		.target_is_mask = true,
		.args = {{.low = "cpumask", .high = "callsite"}, {.low = "callback"}},
		.names = {.thread = "common_pid", .callsite = "callsite", .functions = 2}},
	{.name = "tlb/tlb_flush",
		.group = GROUP_TLB,
		.kind = EVENT_TLB_FLUSH,
		.args = {{.low = "reason"}, {.low = "pages"}}},
	{.name = "sched/sched_switch",
		.group = GROUP_SWITCH,
		.kind = EVENT_SWITCH,
		.args = {{.low = "prev_pid", .high = "prev_state"},
			{.low = "next_pid", .high = "next_prio"}},
		.names = {.thread = "prev_pid",
			.comm = "prev_comm",
			.other_thread = "next_pid",
			.other_comm = "next_comm"}},
	{.name = "sched/sched_wakeup",
		.group = GROUP_WAKEUP,
		.kind = EVENT_WAKEUP,
		.scope = SCOPE_WOKEN,
		.target = "target_cpu",
		.args = {{.low = "pid"}, {.low = "target_cpu", .high = "prio"}},
		.names = {.thread = "pid", .comm = "comm", .other_thread = "common_pid"}},
	{.name = "workqueue/workqueue_execute_start",
		.group = GROUP_WORK,
		.kind = EVENT_WORK_ENTRY,
		.args = {{.low = "function"}, {.low = "work"}},
		.names = {.functions = 1}},
	{.name = "workqueue/workqueue_execute_end",
		.group = GROUP_WORK,
		.kind = EVENT_WORK_EXIT,
		.args = {{.low = "function"}, {.low = "work"}},
		.names = {.functions = 1}},
	{.name = "exceptions/page_fault_user",
		.group = GROUP_FAULTS,
		.kind = EVENT_PAGE_FAULT,
		.scope = SCOPE_THREAD,
		.args = {{.low = "address"}, {.low = "ip"}}},
	{.name = "raw_syscalls/sys_enter",
		.group = GROUP_SYSCALLS,
		.kind = EVENT_SYSCALL_ENTRY,
		.scope = SCOPE_THREAD,
		.args = {{.low = "id"}}},
	{.name = "raw_syscalls/sys_exit",
		.group = GROUP_SYSCALLS,
		.kind = EVENT_SYSCALL_EXIT,
		.scope = SCOPE_THREAD,
		.args = {{.low = "id"}, {.low = "ret"}}},
	{.name = "nmi/nmi_handler",
		.group = GROUP_NMI,
		.kind = EVENT_NMI,
		.args = {{.low = "handler"}, {.low = "delta_ns"}},
		.names = {.functions = 1}},
	{.name = "mce/mce_record",
		.group = GROUP_MCE,
		.kind = EVENT_MACHINE_CHECK,
		.args = {{.low = "bank"}, {.low = "status"}}},
	{.name = "power/cpu_idle",
		.group = GROUP_POWER,
		.kind = EVENT_IDLE,
		.args = {{.low = "state"}}},
	// Noted by whoever asked for the new frequency.
	{.name = "power/cpu_frequency",
		.group = GROUP_POWER,
		.kind = EVENT_FREQUENCY,
		.scope = SCOPE_TARGET,
		.target = "cpu_id",
		.is_about_target = true,
		.args = {{.low = "state"}}},
	{.name = "timer/tick_stop",
		.group = GROUP_TICK,
		.kind = EVENT_TICK_STOP,
		.args = {{.low = "success"}, {.low = "dependency"}}},
};
const size_t n_event_rows = sizeof(event_rows) / sizeof(event_rows[0]);

const struct event_group_info event_groups[N_EVENT_GROUPS] = {
	[GROUP_IRQ] = {"irq", "interrupts of devices are not seen"},
	[GROUP_VECTORS] = {"irq_vectors", "this interrupt of the processor is not seen"},
	[GROUP_SOFTIRQ] = {"softirq", "softirqs are not told from the rest of the kernel"},
	[GROUP_NAPI] = {"napi", "how many packets a network softirq handled is unknown"},
	[GROUP_TIMER] = {"timer", "which timer a timer interrupt served is unknown"},
	[GROUP_CALLS] = {"csd", "functions and initiators of function-call IPIs are unknown"},
	[GROUP_IPI] = {"ipi", "initiators of IPIs are unknown"},
	[GROUP_TLB] = {"tlb", "TLB shootdowns are known by their IPI's function only"},
	[GROUP_SWITCH] = {"sched_switch", "preemption and stopped threads are not seen"},
	[GROUP_WAKEUP] = {"sched_wakeup", "who woke a thread is unknown"},
	[GROUP_WORK] = {"workqueue", "functions of kernel workers are unknown"},
	[GROUP_FAULTS] = {"page_fault", "page faults are not seen"},
	[GROUP_SYSCALLS] = {"syscalls", "system calls of watched threads are not seen"},
	[GROUP_NMI] = {"nmi", "non-maskable interrupts are not seen"},
	[GROUP_MCE] = {"mce", "machine checks are not seen"},
	[GROUP_POWER] = {"power", "idle states and changes of frequency are not seen"},
	[GROUP_TICK] = {"tick_stop", "why the tick goes on is unknown"},
};

static int find_group(const char *name, size_t len)
{
	for (int i = 0; i < N_EVENT_GROUPS; i++)
		if (strlen(event_groups[i].name) == len &&
			strncmp(event_groups[i].name, name, len) == 0)
			return i;
	return -1;
}

int event_groups_parse(const char *text, uint32_t *out, struct error *error)
{
	static const uint32_t all = (UINT32_C(1) << N_EVENT_GROUPS) - 1;
	bool excludes = *text == '-';

	*out = *text == '\0' || excludes ? all : 0;
	text += excludes;
	while (*text != '\0') {
		size_t n = strcspn(text, ",");
		int group = find_group(text, n);
		if (group < 0) {
			error_set(error, "--events %.*s: no such group; known are", (int)n, text);
			for (int i = 0; i < N_EVENT_GROUPS; i++)
				error_append(
					error, "%s %s", i > 0 ? "," : "", event_groups[i].name);
			return -EINVAL;
		}
		*out = excludes ? *out & ~(UINT32_C(1) << group) : *out | UINT32_C(1) << group;
		text += n;
		text += *text == ',';
	}
	return 0;
}
