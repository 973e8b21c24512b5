// SPDX-License-Identifier: GPL-2.0
/*
 * The window under test: leaves mapped as the case wants them, everything around them not present.
 *
 * Not-present neighbours are the guard of the method: a not-present entry is never cached, so a
 * prefetcher that runs past the set cannot fetch what was not lost.
 */
#include "measure.h"
#include "window.h"

#define FRAMES_4K 512 /* 4K pieces of a 2M frame */
/* frames=scattered takes every third frame: no two that follow each other are neighbours. */
#define SCATTER 3

/* Where the window stands in the owner's 2M frames. */
struct taker {
	const struct ts_memory *memory;
	u64 next; /* first 2M frame not yet taken */
};

/* Physical address of leaf i of a set whose 2M frames start at first. */
static u64 leaf_frame(const struct ts_memory *memory, const struct ts_set *set, u64 first, u64 i)
{
	u64 gigabytes, frame;

	switch (set->page) {
	case TS_1G:
		gigabytes = memory->frames(memory->context, TS_1G);
		return gigabytes ? memory->frame(memory->context, TS_1G, i % gigabytes) : 0;
	case TS_2M:
		return memory->frame(memory->context, TS_2M, first + i);
	}
	frame = memory->frame(memory->context, TS_2M, first + i / FRAMES_4K);
	return frame ? frame + i % FRAMES_4K * 4096 : 0;
}

static enum ts_status no_memory(struct ts_error *error, const char *what)
{
	return ts_fail(error, TS_NO_MEMORY, what, "fewer leaves, or more memory for the guest");
}

/* Maps one set and notes its entries; takes the frames, one more than it has leaves (see twin). */
static enum ts_status map_set(struct ts_window *window, u32 s, const struct ts_tables *tables,
			      struct taker *taker, u64 flags, struct ts_error *error)
{
	const struct ts_set *set = &window->e->set[s];
	u64 i, factor = window->e->c.frames == TS_SCATTERED ? SCATTER : 1;
	u64 pa, last = set->leaves * factor;

	for (i = 0; i < set->leaves; i++) {
		pa = leaf_frame(taker->memory, set, taker->next, i * factor);
		if (!pa)
			return no_memory(error, s ? "mix" : "leaves");
		window->leaf[s][i] =
			ts_pt_map(tables, set->va + i * set->step, pa, set->page, flags);
		if (!window->leaf[s][i])
			return no_memory(error, "page-tables");
	}
	if (!s) {
		pa = leaf_frame(taker->memory, set, taker->next, set->page == TS_1G ? 1 : last);
		if (pa == leaf_frame(taker->memory, set, taker->next, 0))
			pa = 0; /* the only gigabyte there is */
		window->twin_entry = pa ? pa | flags | (set->page == TS_4K ? 0 : TS_PTE_PS) : 0;
	}
	if (set->page == TS_4K)
		taker->next += last / FRAMES_4K + 1;
	else if (set->page == TS_2M)
		taker->next += last + 1;
	return TS_OK;
}

/* The pages that at=mapped flushes: always 4K, whatever the set has. */
static enum ts_status map_mapped(const struct ts_expansion *e, const struct ts_tables *tables,
				 struct taker *taker, u64 flags, struct ts_error *error)
{
	struct ts_set set = { .page = TS_4K };
	u64 i, pa;

	for (i = 0; i < e->mapped; i++) {
		pa = leaf_frame(taker->memory, &set, taker->next, i);
		if (!pa)
			return no_memory(error, "mapped");
		if (!ts_pt_map(tables, e->mapped_va + i * 4096, pa, TS_4K, flags))
			return no_memory(error, "page-tables");
	}
	return TS_OK;
}

enum ts_status ts_window_map(struct ts_window *window, const struct ts_tables *tables,
			     const struct ts_memory *memory, u64 flags, struct ts_error *error)
{
	const struct ts_expansion *e = window->e;
	struct taker taker = { .memory = memory };
	enum ts_status status;
	u32 s;

	flags |= TS_PTE_P | TS_PTE_W | (e->c.global ? TS_PTE_G : 0);
	for (s = 0; s < 2; s++) {
		status = map_set(window, s, tables, &taker,
				 e->c.code ? flags & ~TS_PTE_NX : flags, error);
		if (status)
			return status;
	}
	return map_mapped(e, tables, &taker, flags, error);
}

/* ENDBR64 (a kernel with indirect branch tracking wants it at the target of an indirect call), then RET. */
#define CODE 0x000000c3fa1e0ff3ULL
#define CODE_OFFSET 16 /* behind the chain pointer and the word that a write pass writes */

#ifdef __clang__
__attribute__((no_sanitize("kcfi"))) /* there is no type hash in front of this function */
#endif
void ts_window_run_code(const struct ts_window *window, const struct ts_cpu *cpu)
{
	const struct ts_expansion *e = window->e;
	u64 i, function;

	for (i = 0; e->c.code && i < e->touches; i++) {
		if (i % TS_RUN_AT_ONCE == 0 && cpu->pause)
			cpu->pause(cpu->context);
		function = e->touch[i] + CODE_OFFSET;
		*(volatile u64 *)(unsigned long)function = CODE;
		((void (*)(void))(unsigned long)function)();
	}
}

enum ts_status ts_window_link(const struct ts_window *window, struct ts_error *error)
{
	const struct ts_expansion *e = window->e;
	volatile u64 *line = (volatile u64 *)(unsigned long)e->touch[0];
	u64 i;

	for (i = 0; i < e->touches; i++)
		*(volatile u64 *)(unsigned long)e->touch[i] = e->touch[(i + 1) % e->touches];
	for (i = 1; i <= e->touches; i++) {
		line = (volatile u64 *)(unsigned long)*line;
		if ((u64)(unsigned long)line == e->touch[0])
			break;
	}
	if (i != e->touches)
		return ts_fail(error, TS_CONFLICT, "touches", "two touches share a line");
	return TS_OK;
}
