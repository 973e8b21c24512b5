/* SPDX-License-Identifier: GPL-2.0 */
/* The image's own mapping, and the memory that windows are made of. */
#ifndef MEMORY_H
#define MEMORY_H

#include "cpu.h"
#include "window.h"

/* The window lies in PML4 slot 1; the image lives in slot 0, mapped where it lies. */
#define WINDOW_BASE (1ULL << 39)

/* What ts_window_map() wants to know. */
extern const struct ts_tables memory_tables;
extern const struct ts_memory memory_frames;

/* Takes away rights that the image does not need and switches global pages on. */
void memory_init(const struct cpu_info *cpu);

/*
 * Copies n bytes from anywhere in physical memory, mapping what is needed as 4K pages. 1, or 0
 * if that is not possible. After memory_end_peeking() nothing but the image is mapped again.
 */
u8 memory_peek(void *to, u64 physical, u64 n);
void memory_end_peeking(void);

/* Adds one entry of the loader's memory map: RAM, or something that is not to be used. */
void memory_region(u64 base, u64 size, u8 ram);

/* Finds the frames in the memory map given so far. */
void memory_find_frames(void);

/* Bytes in all frames. */
u64 memory_bytes(void);

/* Drops the last window: its tables, its frames and whatever is cached of it. */
void memory_new_window(void);

/* Switches CR4.PCIDE and the window's own PCID on, or both off. Returns the PCID now in CR3. */
u64 memory_use_pcid(u8 on);

/* Bits for every leaf of a window: NX where the CPU has it. */
u64 memory_leaf_flags(void);

#endif
