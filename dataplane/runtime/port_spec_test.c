// Port names and what can be wrong with them, without EAL.

#include "error.h"
#include "port_interrupt.h"
#include "port_kind.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

// Behind cmocka.h, whose assertions it uses.
#include "grammar_test_env.h"

static struct error error;
static char folder[] = "/tmp/port_spec_test.XXXXXX";

static struct port_spec parsed(const char *text)
{
	struct port_spec spec;

	assert_int_equal(port_spec_parse(text, PORT_DEVICE, &spec, &error), 0);
	return spec;
}

static void assert_refused(const char *text, const char *part)
{
	struct port_spec spec;

	assert_int_equal(port_spec_parse(text, PORT_DEVICE, &spec, &error), -EINVAL);
	if (strstr(error.text, part) == NULL)
		fail_msg("%s: %s", text, error.text);
	assert_null(strchr(error.text, '\n'));
}

static void test_every_kind_is_named_and_its_defaults_parse(void **state)
{
	for (size_t i = 0; port_table[i] != NULL; i++) {
		const struct port_kind *kind = port_table[i];
		unsigned char options[PORT_OPTIONS_MAX];
		assert_true(kind->options_size <= PORT_OPTIONS_MAX);
		assert_true(strlen(kind->summary) > 0 && strlen(kind->open_remedy) > 0);
		assert_int_equal(option_parse_list(kind->name, kind->options, kind->n_options, NULL,
					 options, &error),
			0);
		assert_true(kind->is_pci || (kind->devargs != NULL) != (kind->create != NULL));
	}
}

static void test_name_ends_at_the_first_comma_and_may_hold_colons(void **state)
{
	assert_string_equal(parsed("memif:/run/x.sock,id=3").name, "/run/x.sock");
	assert_string_equal(parsed("pci:0000:3b:00.0").name, "0000:3b:00.0");
	assert_string_equal(parsed("veth:eth0,qdisc_bypass=off").name, "eth0");
}

static void check_port(const char *text, const char *meaning)
{
	struct port_spec spec;
	char understood[2 * PORT_TEXT_MAX];
	int err = port_spec_parse(text, PORT_DEVICE, &spec, &error);

	if (err != (meaning == NULL ? -EINVAL : 0))
		fail_msg("\"%s\": %d", text, err);
	if (meaning == NULL)
		return;
	// What follows are options, which the kind has read.
	int len = snprintf(understood, sizeof(understood), "%s %s", spec.kind->name, spec.name);
	assert_int_equal(strncmp(understood, meaning, (size_t)len), 0);
	assert_true(meaning[len] == '\0' || meaning[len] == ' ');
}

static void test_ports_are_those_of_the_grammar(void **state)
{
	grammar_cases("port", check_port);
}

// Whether there is such a card is another question.
static void check_pci(const char *text, const char *meaning)
{
	struct port_spec spec;
	char port[64];

	snprintf(port, sizeof(port), "pci:%s", text);
	int err = port_spec_parse(port, PORT_DEVICE, &spec, &error);
	if (err == 0)
		err = spec.kind->check(&spec, NULL, 0, &error);
	if ((err == -EINVAL) != (meaning == NULL))
		fail_msg("\"%s\": %d", text, err);
}

static void test_addresses_of_cards_are_those_of_the_grammar(void **state)
{
	grammar_cases("pci", check_pci);
}

static void test_bad_names_are_refused_with_the_port_and_the_remedy(void **state)
{
	assert_refused(
		"foo:x", "port foo:x: unknown kind of port; write KIND:NAME, KIND one of memif");
	assert_refused("memif", "port memif: unknown kind of port");
	assert_refused("memif:", "no name after the colon; write memif:NAME");
	assert_refused("memif:x,rsize=15", "rsize=15: accepted are 1 to 14");
	assert_refused("memif:x,speed=1", "speed: no such option");
	assert_refused("ring:x,a=1", "a: no such option; it has none");
	assert_refused("null:x,size=59", "accepted are 60 to 1514");
}

static int devargs(const char *text, enum port_side side, char *out, size_t len)
{
	struct port_spec spec;

	assert_int_equal(port_spec_parse(text, side, &spec, &error), 0);
	return spec.kind->devargs(&spec, out, len, &error);
}

static void test_device_listens_and_generator_connects_unless_told(void **state)
{
	char args[512];

	setenv("TAUT_RUN_DIR", folder, 1);
	assert_int_equal(devargs("memif:a", PORT_DEVICE, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "role=server"));
	assert_non_null(strstr(args, folder));
	assert_non_null(strstr(args, "/a.sock,"));
	assert_int_equal(devargs("memif:a", PORT_GENERATOR, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "role=client"));
	assert_int_equal(devargs("memif:/x/y,role=server", PORT_GENERATOR, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "role=server"));
	assert_non_null(strstr(args, "socket=/x/y,"));
}

static void test_path_longer_than_a_socket_may_have_is_refused(void **state)
{
	char text[PORT_TEXT_MAX] = "memif:/";
	char args[512];

	memset(text + strlen(text), 'a', 120);
	assert_int_equal(devargs(text, PORT_DEVICE, args, sizeof(args)), -ENAMETOOLONG);
	assert_non_null(strstr(error.text, "at most 107 characters"));
}

static int check(const char *const *texts, size_t n)
{
	struct port_spec specs[4];

	for (size_t i = 0; i < n; i++)
		specs[i] = parsed(texts[i]);
	error.text[0] = '\0';
	return port_specs_check(specs, n, &error);
}

static void test_both_ends_of_a_memif_may_live_in_one_program(void **state)
{
	const char *const texts[] = {"memif:l,role=server", "memif:l,role=client"};
	const char *const reversed[] = {"memif:l,role=client", "memif:l,role=server"};
	const char *const twice[] = {"memif:l", "memif:l"};
	const char *const ids[] = {"memif:l", "memif:l,id=1"};

	setenv("TAUT_RUN_DIR", folder, 1);
	assert_int_equal(check(texts, 2), 0);
	assert_int_equal(check(ids, 2), 0);
	assert_int_equal(check(reversed, 2), -EINVAL);
	assert_non_null(strstr(error.text, "name the server first"));
	assert_int_equal(check(twice, 2), -EADDRINUSE);
	assert_non_null(strstr(error.text, "give it another id="));
}

static void test_the_ends_of_a_virtio_link_listen_or_connect(void **state)
{
	char args[512];

	setenv("TAUT_RUN_DIR", folder, 1);
	assert_int_equal(devargs("virtio:a", PORT_DEVICE, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "/a.sock,server=1,"));
	assert_int_equal(devargs("virtio:a", PORT_GENERATOR, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "server=0"));
	assert_int_equal(devargs("vhost:a", PORT_DEVICE, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "/a.sock,client=0,"));
	assert_int_equal(devargs("vhost:a,role=client", PORT_DEVICE, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "client=1"));
}

static void test_a_virtio_link_has_two_different_ends(void **state)
{
	const char *const texts[] = {"vhost:l,role=server", "virtio:l,role=client"};
	const char *const twice[] = {"virtio:l,role=server", "virtio:l,role=client"};
	const char *const both_listen[] = {"vhost:l", "virtio:l"};

	setenv("TAUT_RUN_DIR", folder, 1);
	assert_int_equal(check(texts, 2), 0);
	assert_int_equal(check(twice, 2), -EADDRINUSE);
	assert_non_null(strstr(error.text, "each link needs its own"));
	assert_int_equal(check(both_listen, 2), -EADDRINUSE);
}

static void test_only_kinds_with_interrupts_are_asked_for_them(void **state)
{
	static const char *const with[] = {"virtio:a", "vhost:b", "pci:0000:3b:00.0"};
	static const char *const without[] = {"memif:a", "veth:a", "xdp:a", "ring:a", "null:a"};

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		struct port_spec spec = parsed(with[i]);
		assert_int_equal(port_specs_want_interrupts(&spec, 1, &error), 0);
		assert_true(spec.interrupts);
	}
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		struct port_spec spec = parsed(without[i]);
		assert_int_equal(port_specs_want_interrupts(&spec, 1, &error), -EINVAL);
		assert_non_null(strstr(error.text, "no receive interrupts"));
	}
}

// A socket file at name in the folder; returns the listening descriptor.
static int listen_at(const char *name, struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/%s", folder, name);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void test_socket_of_a_live_process_is_in_use(void **state)
{
	const char *const texts[] = {"memif:live"};
	struct sockaddr_un address;
	int fd = listen_at("live.sock", &address);

	setenv("TAUT_RUN_DIR", folder, 1);
	assert_int_equal(check(texts, 1), -EADDRINUSE);

	assert_non_null(strstr(error.text, "port memif:live: socket "));
	assert_non_null(strstr(error.text, "in use by another process"));
	close(fd);
	unlink(address.sun_path);
}

static void test_socket_file_of_a_dead_process_is_removed(void **state)
{
	const char *const texts[] = {"memif:dead"};
	struct sockaddr_un address;
	int fd = listen_at("dead.sock", &address);

	setenv("TAUT_RUN_DIR", folder, 1);
	close(fd);
	assert_int_equal(access(address.sun_path, F_OK), 0);

	assert_int_equal(check(texts, 1), 0);

	assert_int_equal(access(address.sun_path, F_OK), -1);
}

static void test_file_that_is_no_socket_is_left_alone(void **state)
{
	const char *const texts[] = {"memif:file"};
	char path[128];

	setenv("TAUT_RUN_DIR", folder, 1);
	snprintf(path, sizeof(path), "%s/file.sock", folder);
	fclose(fopen(path, "w"));

	assert_int_equal(check(texts, 1), -EEXIST);

	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
}

static void test_folder_that_is_not_there_is_refused(void **state)
{
	const char *const texts[] = {"memif:/nonexistent/x.sock"};

	assert_int_equal(check(texts, 1), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent"));
}

static void test_a_run_folder_that_is_not_this_users_alone_is_refused(void **state)
{
	const char *const server[] = {"memif:a"}, *const client[] = {"memif:a,role=client"};
	char link[64];

	snprintf(link, sizeof(link), "%s-link", folder);
	assert_int_equal(symlink(folder, link), 0);
	setenv("TAUT_RUN_DIR", link, 1);
	assert_int_equal(check(server, 1), -EPERM);
	unlink(link);

	setenv("TAUT_RUN_DIR", folder, 1);
	assert_int_equal(chmod(folder, 0770), 0);
	assert_int_equal(check(server, 1), -EPERM);
	assert_int_equal(check(client, 1), -EPERM);
	assert_non_null(strstr(error.text, "is not this user's alone"));
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(check(server, 1), 0);

	if (geteuid() == 0) {
		assert_int_equal(chown(folder, 65534, 65534), 0);
		assert_int_equal(check(server, 1), -EPERM);
		assert_int_equal(chown(folder, 0, 0), 0);
	}
}

static void test_the_run_folder_of_a_user_is_in_the_runtime_folder(void **state)
{
	char args[512];

	if (geteuid() == 0 && seteuid(65534) < 0)
		skip();
	unsetenv("TAUT_RUN_DIR");
	setenv("XDG_RUNTIME_DIR", "/run/user/x", 1);
	assert_int_equal(devargs("memif:a", PORT_DEVICE, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "socket=/run/user/x/taut/a.sock,"));
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(devargs("memif:a", PORT_DEVICE, args, sizeof(args)), 0);
	assert_non_null(strstr(args, "socket=/tmp/taut-"));
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void test_missing_interface_or_missing_rights_are_refused(void **state)
{
	const char *const kinds[][1] = {{"veth:nope0"}, {"xdp:nope0"}, {"pci:ffff:ff:1f.7"}};

	for (size_t i = 0; i < 3; i++) {
		int err = check(kinds[i], 1);
		assert_int_equal(err, geteuid() == 0 ? -ENODEV : -EPERM);
		assert_non_null(strstr(error.text, kinds[i][0]));
	}
}

static void test_gap_limits_are_those_of_the_slowest_port(void **state)
{
	struct port_spec specs[2] = {parsed("ring:a"), parsed("veth:b")};

	assert_int_equal(port_gap_limits(specs, 1).threshold_ns, 1000);
	assert_int_equal(port_gap_limits(specs, 1).per_packet_ns, 250);
	assert_int_equal(port_gap_limits(specs, 2).threshold_ns, 10000);
	assert_int_equal(port_gap_limits(specs, 2).per_packet_ns, 10000);
	assert_true(port_gap_limits(specs, 1).keeps);
	assert_false(port_gap_limits(specs, 2).keeps);

	// The generator wakes a device that sleeps; the device nobody.
	specs[0] = parsed("virtio:a");
	assert_int_equal(port_gap_limits(specs, 1).threshold_ns, 1000);
	specs[0].side = PORT_GENERATOR;
	assert_int_equal(port_gap_limits(specs, 1).threshold_ns, 10000);
	assert_true(port_gap_limits(specs, 1).keeps);
}

static void test_the_ring_of_a_socket_has_the_size_that_was_asked_for(void **state)
{
	struct port_spec spec = parsed("veth:a,framecnt=129");

	assert_int_equal(spec.kind->ring_size(&spec), 128);
	spec = parsed("veth:a,framecnt=65536");
	assert_int_equal(spec.kind->ring_size(&spec), UINT16_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_is_named_and_its_defaults_parse),
		cmocka_unit_test(test_name_ends_at_the_first_comma_and_may_hold_colons),
		cmocka_unit_test(test_ports_are_those_of_the_grammar),
		cmocka_unit_test(test_addresses_of_cards_are_those_of_the_grammar),
		cmocka_unit_test(test_bad_names_are_refused_with_the_port_and_the_remedy),
		cmocka_unit_test(test_device_listens_and_generator_connects_unless_told),
		cmocka_unit_test(test_path_longer_than_a_socket_may_have_is_refused),
		cmocka_unit_test(test_both_ends_of_a_memif_may_live_in_one_program),
		cmocka_unit_test(test_the_ends_of_a_virtio_link_listen_or_connect),
		cmocka_unit_test(test_a_virtio_link_has_two_different_ends),
		cmocka_unit_test(test_only_kinds_with_interrupts_are_asked_for_them),
		cmocka_unit_test(test_socket_of_a_live_process_is_in_use),
		cmocka_unit_test(test_socket_file_of_a_dead_process_is_removed),
		cmocka_unit_test(test_file_that_is_no_socket_is_left_alone),
		cmocka_unit_test(test_folder_that_is_not_there_is_refused),
		cmocka_unit_test(test_a_run_folder_that_is_not_this_users_alone_is_refused),
		cmocka_unit_test(test_the_run_folder_of_a_user_is_in_the_runtime_folder),
		cmocka_unit_test(test_missing_interface_or_missing_rights_are_refused),
		cmocka_unit_test(test_gap_limits_are_those_of_the_slowest_port),
		cmocka_unit_test(test_the_ring_of_a_socket_has_the_size_that_was_asked_for),
	};

	if (mkdtemp(folder) == NULL)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
