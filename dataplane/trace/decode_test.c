#include "decode.h"
#include "trace_test_env.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COMMON                                                                                     \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char wakeup_format[] = "name: sched_wakeup\nID: 373\n" COMMON
				    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				    "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
				    "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";
static const char switch_format[] = "name: sched_switch\nID: 372\n" COMMON
				    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
				    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
				    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
				    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";
static const char mask_format[] =
	"name: ipi_send_cpumask\nID: 353\n" COMMON
	"\tfield:__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:void * callsite;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:void * callback;\toffset:24;\tsize:8;\tsigned:0;\n";
static const char cpu_format[] = "name: ipi_send_cpu\nID: 354\n" COMMON
				 "\tfield:unsigned int cpu;\toffset:8;\tsize:4;\tsigned:0;\n"
				 "\tfield:void * callsite;\toffset:16;\tsize:8;\tsigned:0;\n"
				 "\tfield:void * callback;\toffset:24;\tsize:8;\tsigned:0;\n";
static const char frequency_format[] = "name: cpu_frequency\nID: 565\n" COMMON
				       "\tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n"
				       "\tfield:u32 cpu_id;\toffset:12;\tsize:4;\tsigned:0;\n";
static const char exit_format[] =
	"name: sys_exit\nID: 442\n" COMMON "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";

struct env {
	struct decoder *decoder;
	struct trace_names names;
};

static const struct event_row *row_of(const char *name)
{
	for (size_t i = 0; i < n_event_rows; i++)
		if (strcmp(event_rows[i].name, name) == 0)
			return &event_rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static int set_up(void **state)
{
	struct env *env = calloc(1, sizeof(*env));
	cpu_set_t watched;

	CPU_ZERO(&watched);
	CPU_SET(2, &watched);
	CPU_SET(9, &watched);
	trace_names_init(&env->names, false);
	env->decoder = decoder_create(&watched, &env->names);
	assert_non_null(env->decoder);
	*state = env;
	return 0;
}

static int tear_down(void **state)
{
	struct env *env = *state;

	decoder_destroy(env->decoder);
	trace_names_destroy(&env->names);
	free(env);
	return 0;
}

static void add(struct env *env, const char *name, const char *format)
{
	assert_int_equal(decoder_add(env->decoder, row_of(name), format), 0);
}

// The common fields of an event.
static void start(uint8_t *data, size_t size, uint16_t id, int32_t thread)
{
	memset(data, 0, size);
	memcpy(data, &id, sizeof(id));
	memcpy(data + 4, &thread, sizeof(thread));
}

static void put(uint8_t *data, size_t offset, uint64_t value, size_t size)
{
	memcpy(data + offset, &value, size);
}

static void an_interrupt_has_its_number_and_its_name(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[32];

	add(env, "irq/irq_handler_entry", irq_format);
	start(data, sizeof(data), 225, 4711);
	put(data, 8, 24, 4);
	put(data, 12, 16 | 8 << 16, 4);
	snprintf((char *)data + 16, 8, "virtio0");

	assert_true(decoder_record(env->decoder, data, sizeof(data), 2, 77, &record));
	assert_int_equal(record.kind, EVENT_IRQ_ENTRY);
	assert_int_equal(record.tsc, 77);
	assert_int_equal(record.cpu, 2);
	assert_int_equal(record.thread, 4711);
	assert_int_equal(record.args[0], 24);
	assert_string_equal(name_map_find(&env->names.irqs, 24)->text, "virtio0");
}

static void a_name_that_points_out_of_its_event_is_left_out(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[16];

	add(env, "irq/irq_handler_entry", irq_format);
	start(data, sizeof(data), 225, 1);
	put(data, 12, 12 | 60000u << 16, 4);

	assert_true(decoder_record(env->decoder, data, sizeof(data), 2, 77, &record));
	assert_string_equal(name_map_find(&env->names.irqs, 0)->text, "");
	assert_false(decoder_record(env->decoder, data, 15, 2, 77, &record));
	assert_false(decoder_record(env->decoder, data, 1, 2, 77, &record));
}

static void a_switch_packs_threads_state_and_priority(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[64];

	add(env, "sched/sched_switch", switch_format);
	start(data, sizeof(data), 372, 10);
	snprintf((char *)data + 8, 16, "forwarder");
	put(data, 24, 10, 4);
	put(data, 32, 0x100, 8);
	memset(data + 40, 'n', 16); // no room for an end of the string
	put(data, 56, 11, 4);
	put(data, 60, 49, 4);

	assert_true(decoder_record(env->decoder, data, sizeof(data), 9, 5, &record));
	assert_true(record.args[0] == (10 | UINT64_C(0x100) << 32));
	assert_true(record.args[1] == (11 | UINT64_C(49) << 32));
	assert_string_equal(name_map_find(&env->names.threads, 10)->text, "forwarder");
	assert_string_equal(name_map_find(&env->names.threads, 11)->text, "nnnnnnnnnnnnnnnn");
}

enum { DEAD = 0x10, ZOMBIE = 0x20, IDLE_KTHREAD = 0x80, PREEMPTED = 0x100 };

// Thread 5 of this name takes the core from the idle task, and gives it back in this state.
static const char *runs(struct env *env, const char *comm, uint64_t state)
{
	struct event_record record;
	uint8_t data[64];

	for (int is_back = 0; is_back < 2; is_back++) {
		start(data, sizeof(data), 372, is_back ? 5 : 0);
		snprintf((char *)data + (is_back ? 8 : 40), 16, "%s", comm);
		put(data, is_back ? 24 : 56, 5, 4);
		put(data, 32, is_back ? state : 0, 8);
		assert_true(decoder_record(env->decoder, data, sizeof(data), 9, 5, &record));
	}
	return name_map_find(&env->names.threads, 5)->text;
}

static void a_number_that_is_another_threads_later_has_the_names_of_both(void **state)
{
	struct env *env = *state;

	add(env, "sched/sched_switch", switch_format);
	assert_string_equal(runs(env, "cc1", DEAD), "cc1");
	// A fork has the name of its parent, until it is another program.
	assert_string_equal(runs(env, "make", PREEMPTED), "cc1 or make");
	assert_string_equal(runs(env, "python3", PREEMPTED), "cc1 or python3");
	assert_string_equal(runs(env, "python3", ZOMBIE), "cc1 or python3");
	assert_string_equal(runs(env, "make", PREEMPTED), "cc1 or python3 or make");
	assert_string_equal(runs(env, "python3", DEAD), "cc1 or python3");
	assert_string_equal(runs(env, "python3", DEAD), "cc1 or python3");
	assert_string_equal(runs(env, "fourteen long", DEAD), "cc1 or python3 or fourteen long");
	// As many as there is room for, and the last one.
	assert_string_equal(runs(env, "0123456789abcde", DEAD),
		"cc1 or python3 or fourteen long or 0123456789abcde");
	assert_string_equal(runs(env, "edcba9876543210", DEAD),
		"cc1 or python3 or fourteen long or edcba9876543210");
}

static void a_thread_that_lives_on_has_its_last_name_alone(void **state)
{
	struct env *env = *state;

	add(env, "sched/sched_switch", switch_format);
	assert_string_equal(runs(env, "kworker/2:1", IDLE_KTHREAD), "kworker/2:1");
	assert_string_equal(runs(env, "kworker/2:1-mm", PREEMPTED), "kworker/2:1-mm");
	assert_string_equal(runs(env, "kworker/2:1", 1), "kworker/2:1");
}

static void a_wakeup_packs_core_and_priority(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[64];

	add(env, "sched/sched_wakeup", wakeup_format);
	start(data, sizeof(data), 373, 10);
	put(data, 24, 11, 4);
	put(data, 28, 49, 4);
	put(data, 32, 3, 4);

	assert_true(decoder_record(env->decoder, data, sizeof(data), 9, 5, &record));
	assert_true(record.args[0] == 11);
	assert_true(record.args[1] == (3 | UINT64_C(49) << 32));
}

static void an_ipi_to_a_mask_is_one_to_the_first_watched_core(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[40];

	add(env, "ipi/ipi_send_cpumask", mask_format);
	start(data, sizeof(data), 353, 10);
	put(data, 8, 32 | 8 << 16, 4);
	put(data, 16, 0xffffffff81000123, 8);
	put(data, 24, 0xffffffff81000200, 8);
	put(data, 32, 1 << 9 | 1 << 1, 8);

	assert_true(decoder_record(env->decoder, data, sizeof(data), 0, 5, &record));
	assert_int_equal(record.cpu, 0);
	assert_true(record.args[0] == (9 | UINT64_C(0x81000123) << 32));
	assert_true(record.args[1] == 0xffffffff81000200);
	assert_int_equal(
		name_map_find(&env->names.addresses, 0xffffffff81000123)->tag, ADDRESS_CALLSITE);
	assert_int_equal(
		name_map_find(&env->names.addresses, record.args[1])->tag, ADDRESS_FUNCTION);
	put(data, 32, 1 << 1, 8);
	assert_false(decoder_record(env->decoder, data, sizeof(data), 0, 5, &record));
}

static void an_ipi_without_a_callback_is_known_as_one(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[32];

	add(env, "ipi/ipi_send_cpu", cpu_format);
	start(data, sizeof(data), 354, 10);
	put(data, 8, 9, 4);
	put(data, 16, 0xffffffff81000123, 8);

	assert_true(decoder_record(env->decoder, data, sizeof(data), 0, 5, &record));
	assert_int_equal(record.kind, EVENT_IPI_SEND_FOR);
	assert_true((uint32_t)record.args[0] == 9);
	assert_int_equal(record.args[1], 0);
	assert_null(name_map_find(&env->names.addresses, 0));
}

static void what_an_interrupt_sends_is_not_the_interrupted_threads_doing(void **state)
{
	static const struct {
		uint8_t flags;
		uint32_t thread;
	} sendings[] = {
		{0x00, 10},
		{0x01 | 0x04, 10}, // interrupts off, to be rescheduled
		{0x08, (uint32_t)SENT_BY_INTERRUPT},
		{0x40, (uint32_t)SENT_BY_INTERRUPT},
		{0x10, (uint32_t)SENT_BY_SOFTIRQ},
		{0x08 | 0x10, (uint32_t)SENT_BY_INTERRUPT},
	};
	struct env *env = *state;
	struct event_record record;
	uint8_t data[32];

	add(env, "ipi/ipi_send_cpu", cpu_format);
	for (size_t i = 0; i < sizeof(sendings) / sizeof(*sendings); i++) {
		start(data, sizeof(data), 354, 10);
		put(data, 2, sendings[i].flags, 1);
		put(data, 8, 9, 4);
		assert_true(decoder_record(env->decoder, data, sizeof(data), 0, 5, &record));
		assert_true(record.thread == sendings[i].thread);
	}
}

static void a_kernel_that_does_not_say_what_an_ipi_is_for_has_no_such_event(void **state)
{
	struct env *env = *state;
	char format[sizeof(cpu_format)];

	// As if the field had another name.
	memcpy(format, cpu_format, sizeof(format));
	memcpy(strstr(format, "callback"), "whatever", strlen("whatever"));

	assert_int_equal(decoder_add(env->decoder, row_of("ipi/ipi_send_cpu"), format), -EINVAL);
}

static void a_change_of_frequency_is_of_the_core_it_changes(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[16];

	add(env, "power/cpu_frequency", frequency_format);
	start(data, sizeof(data), 565, 0);
	put(data, 8, 3200000, 4);
	put(data, 12, 9, 4);

	assert_true(decoder_record(env->decoder, data, sizeof(data), 0, 5, &record));
	assert_int_equal(record.cpu, 9);
	assert_int_equal(record.args[0], 3200000);
	put(data, 12, 0, 4);
	assert_false(decoder_record(env->decoder, data, sizeof(data), 0, 5, &record));
}

static void a_negative_result_stays_negative(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[24];

	add(env, "raw_syscalls/sys_exit", exit_format);
	start(data, sizeof(data), 442, 10);
	put(data, 8, 35, 8);
	put(data, 16, (uint64_t)-EINTR, 8);

	assert_true(decoder_record(env->decoder, data, sizeof(data), 2, 5, &record));
	assert_int_equal(record.args[0], 35);
	assert_int_equal((int64_t)record.args[1], -EINTR);
}

static void an_event_with_other_fields_or_another_number_is_not_guessed(void **state)
{
	struct env *env = *state;
	struct event_record record;
	uint8_t data[16];

	assert_int_equal(
		decoder_add(env->decoder, row_of("sched/sched_switch"), irq_format), -EINVAL);
	assert_int_equal(decoder_add(env->decoder, row_of("sched/sched_switch"), ""), -EINVAL);
	start(data, sizeof(data), 225, 1);
	assert_false(decoder_record(env->decoder, data, sizeof(data), 2, 77, &record));
}

int main(void)
{
#define ENV_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ENV_TEST(an_interrupt_has_its_number_and_its_name),
		ENV_TEST(a_name_that_points_out_of_its_event_is_left_out),
		ENV_TEST(a_switch_packs_threads_state_and_priority),
		ENV_TEST(a_number_that_is_another_threads_later_has_the_names_of_both),
		ENV_TEST(a_thread_that_lives_on_has_its_last_name_alone),
		ENV_TEST(a_wakeup_packs_core_and_priority),
		ENV_TEST(an_ipi_to_a_mask_is_one_to_the_first_watched_core),
		ENV_TEST(an_ipi_without_a_callback_is_known_as_one),
		ENV_TEST(what_an_interrupt_sends_is_not_the_interrupted_threads_doing),
		ENV_TEST(a_kernel_that_does_not_say_what_an_ipi_is_for_has_no_such_event),
		ENV_TEST(a_change_of_frequency_is_of_the_core_it_changes),
		ENV_TEST(a_negative_result_stays_negative),
		ENV_TEST(an_event_with_other_fields_or_another_number_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
