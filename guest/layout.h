/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers that assembly and C share: how the image was entered, its stacks, its selectors. */
#ifndef LAYOUT_H
#define LAYOUT_H

#define BOOT_MULTIBOOT 1
#define BOOT_PVH 2

#define STACK_SIZE 16384
#define IST_SIZE 8192
#define GUARD_SIZE 4096 /* unmapped below every stack */

#define SELECTOR_CODE 0x08
#define SELECTOR_DATA 0x10
#define SELECTOR_TSS 0x18

#endif
