/* Prints how many rounds of the work of examples/c/work.h take a millisecond, on a machine where nothing else runs. */
#define _GNU_SOURCE
#include "../../examples/c/work.h"

#include <stdio.h>

int main(void)
{
	printf("%llu\n", (unsigned long long)measured_rounds_per_ms());
	return 0;
}
