#include "spin.h"

void spin_init(struct spin *spin, uint64_t sleep_ticks)
{
	*spin = (struct spin){.ticks = sleep_ticks, .sleep_ticks = sleep_ticks};
}

// The gaps up to each size are looked out (at three quarters of their size, in the middle), the
// longer ones looked at for that long in vain.
static uint64_t cheapest(const struct spin *spin)
{
	uint64_t n_longer = 0, looked = 0, best_ticks = 0;

	for (unsigned int i = 0; i < SPIN_SIZES; i++)
		n_longer += spin->counts[i];
	uint64_t least = n_longer * spin->sleep_ticks;
	// To look for longer than two sleeps cost never pays.
	for (unsigned int i = 0; i < SPIN_SIZES && 1UL << i <= 2 * spin->sleep_ticks; i++) {
		uint64_t ticks = 1UL << i;
		looked += spin->counts[i] * (ticks - ticks / 4);
		n_longer -= spin->counts[i];
		uint64_t cost = looked + n_longer * (ticks + spin->sleep_ticks);
		if (cost < least) {
			least = cost;
			best_ticks = ticks;
		}
	}
	return best_ticks;
}

void spin_note(struct spin *spin, uint64_t gap_ticks)
{
	unsigned int size = gap_ticks == 0 ? 0 : 64 - (unsigned int)__builtin_clzl(gap_ticks);

	spin->counts[size < SPIN_SIZES ? size : SPIN_SIZES - 1]++;
	if (++spin->n < SPIN_WINDOW)
		return;
	spin->ticks = cheapest(spin);
	spin->n = 0;
	for (unsigned int i = 0; i < SPIN_SIZES; i++)
		spin->counts[i] /= 2;
}
