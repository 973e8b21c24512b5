/* SPDX-License-Identifier: GPL-2.0 */
/* What the probe table needs of target module. */
#ifndef TS_TARGET_MODULE_H
#define TS_TARGET_MODULE_H

#include "probe.h"

/*
 * struct probe.look: is the module's device there, and if not, how to get it and what may be in the
 * way.
 */
enum probe_result module_look(const struct options *options, char *seen, size_t seen_size,
			      char *remedy, size_t remedy_size);

#endif
