// Chains where indices have passed 2^32, of which they hold the low half: 0 is an entry there.

#include "keyed_ring.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { STRIDE = 56 };

static const uint64_t wrap = UINT64_C(1) << 32;

static const uint8_t *key_of(uint8_t name)
{
	static uint8_t key[STRIDE];

	memset(key, name, sizeof(key));
	return key;
}

static uint64_t hash_of(uint8_t name)
{
	return (uint64_t)name << 32 | name;
}

static void add(struct keyed_ring *ring, uint8_t name)
{
	keyed_ring_add(ring, hash_of(name), key_of(name));
}

static uint64_t find(const struct keyed_ring *ring, uint8_t name)
{
	return keyed_ring_find(ring, hash_of(name), key_of(name));
}

static uint64_t older(const struct keyed_ring *ring, uint64_t index, uint8_t name)
{
	return keyed_ring_older(ring, index, hash_of(name), key_of(name));
}

static struct keyed_ring ring_from(uint64_t first)
{
	struct keyed_ring ring;

	assert_int_equal(keyed_ring_init(&ring, STRIDE, 1), 0);
	ring.first = ring.next = first;
	return ring;
}

static void test_a_chain_with_nothing_in_it_ends(void **state)
{
	struct keyed_ring ring = ring_from(wrap);

	add(&ring, 1);

	assert_int_equal(find(&ring, 2), 0);
	assert_int_equal(find(&ring, 1), wrap);
	assert_int_equal(older(&ring, wrap, 1), 0);
	keyed_ring_fini(&ring);
}

static void test_what_is_older_is_found_across_the_wrap_and_nothing_twice(void **state)
{
	struct keyed_ring ring = ring_from(wrap - 2);

	add(&ring, 1);
	add(&ring, 2);
	add(&ring, 1);
	add(&ring, 2);

	assert_int_equal(find(&ring, 1), wrap);
	assert_int_equal(older(&ring, wrap, 1), wrap - 2);
	assert_int_equal(older(&ring, wrap - 2, 1), 0);
	assert_int_equal(find(&ring, 2), wrap + 1);
	assert_int_equal(older(&ring, wrap + 1, 2), wrap - 1);
	assert_int_equal(older(&ring, wrap - 1, 2), 0);
	keyed_ring_fini(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_chain_with_nothing_in_it_ends),
		cmocka_unit_test(test_what_is_older_is_found_across_the_wrap_and_nothing_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
