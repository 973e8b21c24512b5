// SPDX-License-Identifier: GPL-2.0
/*
 * The image's own mapping, and the memory that windows are made of.
 *
 * The image is mapped with 4K leaves only (see boot.S), and without the global bit: a flush that
 * keeps global pages then costs the harness the same refills as one that drops them, and the
 * difference between the two is the window's alone.
 *
 * Frames for windows start at 16 MiB: memory below is full of holes that hypervisors and firmware
 * back in pieces. They are handed out from the parts of RAM that are no whole gigabyte first, so
 * that gigabytes stay whole for 1G leaves; one gigabyte is never used both ways in one window. Of these
 * parts the last comes first: no hypervisor can map the gigabyte with those holes by one 1G page.
 */
#include "memory.h"
#include "console.h"
#include "io.h"
#include "layout.h"
#include "mem.h"

#define FRAME_FLOOR (16ULL << 20)
#define MAX_REGIONS 128
/*
 * Two sets of 16384 neighbouring leaves need 70 tables; the rest is for wide strides, where every
 * 4K leaf has a table of its own.
 */
#define POOL_PAGES 1024
#define PAGE 4096ULL
#define SIZE_2M (2ULL << 20)
#define SIZE_1G (1ULL << 30)
#define FRAMES_IN_1G 512
#define PCID_OF_WINDOW 1

struct region {
	u64 base, end;
	u8 ram;
};

/* A run of frames of one size that lie one behind the other. */
struct run {
	u64 base, frames;
};

struct runs {
	u64 size;
	u32 n;
	u64 frames; /* in all runs */
	struct run run[2 * MAX_REGIONS];
};

extern u64 boot_root[512], boot_pdpt[512], boot_pd[512], boot_pt[4 * 512];
extern char image_start[], text_end[], rodata_end[], image_end[];
extern char stack_guard[], ist_df_guard[], ist_nmi_guard[];

static u64 pool[POOL_PAGES][512] __attribute__((section(".bss.pool"), aligned(4096)));
static u32 pool_used;
static u64 leaf_nx, base_cr4, top_address;

static struct region regions[MAX_REGIONS];
static u32 n_regions;
static struct runs small, giga; /* of 2M and of 1G frames */

/* In the current window: gigabytes used whole (the first ones), and split (the last ones). */
static u64 giga_whole, giga_split;

static u64 *pool_alloc(void *context, u64 *physical)
{
	u64 *table;

	(void)context;
	if (pool_used == POOL_PAGES)
		return 0;
	table = pool[pool_used++];
	memset(table, 0, PAGE);
	*physical = (unsigned long)table;
	return table;
}

static u64 *pool_reach(void *context, u64 physical)
{
	(void)context;
	return (u64 *)(unsigned long)physical;
}

const struct ts_tables memory_tables = {
	.alloc = pool_alloc,
	.reach = pool_reach,
	.root = boot_root,
	.levels = 4,
	.table_flags = TS_PTE_P | TS_PTE_W | TS_PTE_A,
};

/* SDM vol. 3, 4.10.4.1: a change of CR4.PGE drops everything, global or not, of every PCID. */
static void flush_all(void)
{
	if (base_cr4 & CR4_PGE) {
		write_cr4(base_cr4 & ~CR4_PGE);
		write_cr4(base_cr4);
	} else {
		write_cr3((unsigned long)boot_root);
	}
}

static void set_leaves(const char *from, const char *to, u64 flags)
{
	for (u64 va = (unsigned long)from; va < (unsigned long)to; va += PAGE)
		boot_pt[va / PAGE] = flags ? va | flags : 0;
}

void memory_init(const struct cpu_info *cpu)
{
	const u64 read = TS_PTE_P | TS_PTE_A;

	top_address = 1ULL << cpu->physical_bits;
	leaf_nx = cpu->features & TS_NX ? TS_PTE_NX : 0;
	base_cr4 = read_cr4();
	if (cpu->features & TS_PGE)
		base_cr4 |= CR4_PGE;
	write_cr4(base_cr4);

	set_leaves(image_start, text_end, read);
	set_leaves(text_end, rodata_end, read | leaf_nx);
	set_leaves(rodata_end, image_end, read | TS_PTE_W | TS_PTE_D | leaf_nx);
	set_leaves(stack_guard, stack_guard + GUARD_SIZE, 0);
	set_leaves(ist_df_guard, ist_df_guard + GUARD_SIZE, 0);
	set_leaves(ist_nmi_guard, ist_nmi_guard + GUARD_SIZE, 0);
	flush_all();
}

u64 memory_leaf_flags(void)
{
	return leaf_nx;
}

u8 memory_peek(void *to, u64 physical, u64 n)
{
	const u64 flags = TS_PTE_P | TS_PTE_A | leaf_nx;

	if (physical + n < n || physical + n > top_address)
		return 0;
	for (u64 page = physical & ~(PAGE - 1); page < physical + n; page += PAGE) {
		if (!ts_pt_leaf(&memory_tables, page, 0) &&
		    !ts_pt_map(&memory_tables, page, page, TS_4K, flags))
			return 0;
	}
	memcpy(to, (const void *)(unsigned long)physical, n);
	return 1;
}

/* Everything outside the image goes, together with the tables that had to be made for it. */
void memory_end_peeking(void)
{
	const u64 first = (unsigned long)image_start / PAGE, end = (unsigned long)image_end / PAGE;

	memset(boot_root + 1, 0, sizeof(boot_root) - sizeof(*boot_root));
	memset(boot_pdpt + 1, 0, sizeof(boot_pdpt) - sizeof(*boot_pdpt));
	memset(boot_pd + 4, 0, sizeof(boot_pd) - 4 * sizeof(*boot_pd));
	memset(boot_pt, 0, first * sizeof(*boot_pt));
	memset(boot_pt + end, 0, sizeof(boot_pt) - end * sizeof(*boot_pt));
	pool_used = 0;
	flush_all();
}

void memory_region(u64 base, u64 size, u8 ram)
{
	u64 end = base + size < base ? ~0ULL : base + size;

	if (n_regions == MAX_REGIONS) {
		console_log("the memory map is too long: the rest is not used", 0, 0);
		return;
	}
	regions[n_regions++] = (struct region){ base, end, ram };
}

static u64 down(u64 address, u64 size)
{
	return address & ~(size - 1);
}

static u64 up(u64 address, u64 size)
{
	return down(address + size - 1, size);
}

static void add_run(struct runs *runs, u64 base, u64 end)
{
	if (base >= end || runs->n == TS_COUNT(runs->run))
		return;
	runs->run[runs->n].base = base;
	runs->run[runs->n++].frames = (end - base) / runs->size;
	runs->frames += (end - base) / runs->size;
}

/* Cuts plain RAM into frames: whole gigabytes, and what lies before and behind them. */
static void add_ram(u64 base, u64 end)
{
	u64 floor = up((unsigned long)image_end, SIZE_2M), first, last;

	if (floor < FRAME_FLOOR)
		floor = FRAME_FLOOR;
	if (end > top_address)
		end = top_address;
	base = up(base < floor ? floor : base, SIZE_2M);
	end = down(end, SIZE_2M);
	first = up(base, SIZE_1G);
	last = down(end, SIZE_1G);
	if (first > end)
		first = end;
	if (last < first)
		last = first;
	add_run(&small, base, first);
	add_run(&giga, first, last);
	add_run(&small, last, end);
}

/*
 * The part of RAM region i that starts at *base: moved behind a region that is not RAM, or that
 * came earlier in the map (firmware maps may overlap), and cut off before the next such one.
 * Returns its end, or 0 if nothing is left.
 */
static u64 next_piece(u32 i, u64 *base)
{
	u64 end = regions[i].end;

	for (u32 r = 0; r < n_regions && *base < end; r++) {
		if (regions[r].ram && r >= i)
			continue;
		if (regions[r].base <= *base && regions[r].end > *base) {
			*base = regions[r].end;
			r = ~0U; /* from the start: it may lie in an earlier one now */
			end = regions[i].end;
		} else if (regions[r].base > *base && regions[r].base < end) {
			end = regions[r].base;
		}
	}
	return *base < end ? end : 0;
}

void memory_find_frames(void)
{
	small.size = SIZE_2M;
	giga.size = SIZE_1G;
	for (u32 i = 0; i < n_regions; i++) {
		u64 base = regions[i].base, end;

		if (!regions[i].ram)
			continue;
		while ((end = next_piece(i, &base)) != 0) {
			add_ram(base, end);
			base = end;
		}
	}
}

u64 memory_bytes(void)
{
	return small.frames * SIZE_2M + giga.frames * SIZE_1G;
}

/* Address of frame n, counted from the start of the last run. */
static u64 nth(const struct runs *runs, u64 n)
{
	for (u32 i = runs->n; i-- > 0; n -= runs->run[i].frames) {
		if (n < runs->run[i].frames)
			return runs->run[i].base + n * runs->size;
	}
	return 0;
}

static u64 frame(void *context, u64 page, u64 n)
{
	u64 split;

	(void)context;
	if (page == TS_1G) {
		if (n >= giga.frames - giga_split)
			return 0;
		if (giga_whole <= n)
			giga_whole = n + 1;
		return nth(&giga, n);
	}
	if (n < small.frames)
		return nth(&small, n);
	n -= small.frames;
	split = n / FRAMES_IN_1G + 1;
	if (split > giga.frames - giga_whole)
		return 0;
	if (giga_split < split)
		giga_split = split;
	return nth(&giga, giga.frames - split) + n % FRAMES_IN_1G * SIZE_2M;
}

static u64 frames(void *context, u64 page)
{
	(void)context;
	if (page == TS_1G)
		return giga.frames - giga_split;
	return small.frames + (giga.frames - giga_whole) * FRAMES_IN_1G;
}

const struct ts_memory memory_frames = { .frame = frame, .frames = frames };

void memory_new_window(void)
{
	boot_root[ts_pt_index(WINDOW_BASE, 3)] = 0;
	pool_used = 0;
	giga_whole = 0;
	giga_split = 0;
	flush_all();
}

/*
 * CR4.PCIDE can be set only while CR3[11:0] is 0 (SDM vol. 3, 4.10.1), hence the order. Clearing
 * it drops the entries of all PCIDs.
 */
u64 memory_use_pcid(u8 on)
{
	write_cr3((unsigned long)boot_root);
	write_cr4(on ? base_cr4 | CR4_PCIDE : base_cr4);
	if (on)
		write_cr3((unsigned long)boot_root | PCID_OF_WINDOW);
	return on ? PCID_OF_WINDOW : 0;
}
