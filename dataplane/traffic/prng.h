#pragma once

// xoshiro256** by Blackman and Vigna ("Scrambled Linear Pseudorandom Number Generators", ACM TOMS
// 2021), seeded by splitmix64 as they advise. Integers only: one seed gives one sequence on every
// machine.

#include <stdint.h>

struct prng {
	uint64_t s[4];
};

static inline uint64_t prng_splitmix64(uint64_t *x)
{
	uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline void prng_seed(struct prng *prng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		prng->s[i] = prng_splitmix64(&seed);
}

static inline uint64_t prng_next(struct prng *prng)
{
	uint64_t *s = prng->s;
	uint64_t result = ((s[1] * 5) << 7 | (s[1] * 5) >> 57) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return result;
}

// Uniform in [0, n) without a division (Lemire's multiplication; bias below n / 2^64).
static inline uint64_t prng_below(struct prng *prng, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)prng_next(prng) * n) >> 64);
}
