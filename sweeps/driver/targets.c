// SPDX-License-Identifier: GPL-2.0
/* The list of targets, best evidence first. */
#include "target.h"

#include <string.h>

const struct target_ops *const targets[] = { &target_kvm, &target_module, &target_user, &target_tcg, 0 };

const struct target_ops *target_find(const char *name)
{
	size_t i;

	for (i = 0; targets[i]; i++)
		if (!strcmp(targets[i]->name, name))
			return targets[i];
	return NULL;
}
