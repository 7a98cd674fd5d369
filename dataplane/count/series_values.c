#include "series_values.h"

#include <stdlib.h>

enum { N_TABLES = sizeof(struct series_values) / sizeof(struct value_counts *) };

void series_values_fini(struct series_values *values)
{
	struct value_counts **of = &values->of[0][0][0][0];

	for (size_t i = 0; i < N_TABLES; i++) {
		if (of[i] != NULL)
			value_counts_fini(of[i]);
		free(of[i]);
		of[i] = NULL;
	}
}

int series_values_create(struct value_counts **values)
{
	struct value_counts *created = calloc(1, sizeof(*created));

	if (created == NULL)
		return -ENOMEM;
	int err = value_counts_init(created);
	if (err < 0)
		free(created);
	else
		*values = created;
	return err;
}

int series_values_end(struct series_values *values)
{
	struct value_counts **of = &values->of[0][0][0][0];
	int err = 0;

	for (size_t i = 0; err == 0 && i < N_TABLES; i++)
		if (of[i] != NULL)
			err = value_counts_end(of[i]);
	return err;
}
