/* SPDX-License-Identifier: GPL-2.0 */
/* What the loader says: memory map and command line. */
#ifndef BOOTINFO_H
#define BOOTINFO_H

#include "types.h"

#define MAX_COMMAND_LINE 4096

/*
 * Reads the information of a loader (BOOT_MULTIBOOT, BOOT_PVH) at a physical address: hands the
 * memory map to memory_region() and copies the command line into line[MAX_COMMAND_LINE + 1].
 * Returns the loader's name, or 0 if it is none of the two.
 */
const char *bootinfo_read(u32 loader, u64 physical, char *line);

#endif
