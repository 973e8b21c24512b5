// SPDX-License-Identifier: GPL-2.0
/*
 * System calls as flush operations.
 *
 * An ordinary process cannot execute INVLPG, but the kernel does so for it: whatever takes rights
 * or pages away from mapped memory has to flush. On x86 the range that was really touched (first to
 * last page, so that sparse pages count as the whole range) goes to flush_tlb_mm_range(): up to
 * tlb_single_page_flush_ceiling pages (33) one by one, more than that by one full flush
 * (arch/x86/mm/tlb.c).
 *
 * mprotect  written pages become read-only. A page has to be dirty and writable for that to flush
 *           (since 5.19 pte_needs_flush() skips what no TLB can hold with more rights), so every
 *           page is written anew in each round; the zero page of a page only read would not flush.
 * madvise   MADV_DONTNEED on written pages.
 * munmap    of written pages in the middle of a mapping. The anchors on both sides keep the page
 *           tables: freeing one would widen the range to what the table covers, and a single page
 *           would flush fully.
 *
 * The twins make the same call on pages that nobody has ever touched: the kernel enters, finds and
 * splits the mapping, walks the page table and finds nothing, so that there is nothing to flush in
 * any kernel version.
 *
 * The pages are 4K (MADV_NOHUGEPAGE), in mappings of their own, and never among those that are
 * measured. One thread and one CPU: there is no other CPU to interrupt, so that neither lazy TLB
 * mode nor INVLPGB (used only for processes that run on many CPUs) comes in.
 */
#include "user_ops.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define ALIGN (2UL << 20) /* what one page table maps */

int user_op_known(u64 op)
{
	return op == TS_OP_NONE || (op >= TS_OP_MPROTECT && op <= TS_OP_MUNMAP_TWIN);
}

u64 user_op_twin(u64 op)
{
	switch (op) {
	case TS_OP_MPROTECT:
		return TS_OP_MPROTECT_TWIN;
	case TS_OP_MADVISE:
		return TS_OP_MADVISE_TWIN;
	case TS_OP_MUNMAP:
		return TS_OP_MUNMAP_TWIN;
	}
	return op;
}

static int failed(int result)
{
	return result ? -errno : 0;
}

/* Fails in kernels without THP only, where every page is small. */
static void keep_small(void *start, size_t size)
{
	madvise(start, size, MADV_NOHUGEPAGE);
}

/*
 * Layout from a 2M boundary: anchor page, the pages, anchor pages up to the end of the last page
 * table. Only the anchors next to the pages get written.
 */
int user_op_create(struct user_op *op, const struct ts_case *c)
{
	char *start;
	size_t inner;

	memset(op, 0, sizeof(*op));
	op->op = c->op;
	if (c->op == TS_OP_NONE)
		return 0;
	op->size = c->count * PAGE;
	inner = (op->size + 2 * PAGE + ALIGN - 1) & ~(ALIGN - 1);
	op->area_size = inner + ALIGN;
	op->area = mmap(NULL, op->area_size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (op->area == MAP_FAILED) {
		op->area = NULL;
		return -errno;
	}
	keep_small(op->area, op->area_size);
	start = (char *)(((unsigned long)op->area + ALIGN - 1) & ~(ALIGN - 1));
	op->page = start + PAGE;
	*(volatile char *)start = 1;
	*(volatile char *)(op->page + op->size) = 1;
	return 0;
}

void user_op_destroy(struct user_op *op)
{
	if (op->area)
		munmap(op->area, op->area_size);
	op->area = NULL;
}

/*
 * The pages as before munmap; with the same flags as their neighbours they become one mapping
 * again.
 */
static int map_again(const struct user_op *op)
{
	if (mmap(op->page, op->size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	keep_small(op->page, op->size);
	return 0;
}

int user_op_prepare(const struct user_op *op)
{
	int result = 0;
	size_t i;

	switch (op->op) {
	case TS_OP_MPROTECT:
	case TS_OP_MPROTECT_TWIN:
		result = failed(mprotect(op->page, op->size, PROT_READ | PROT_WRITE));
		break;
	case TS_OP_MUNMAP:
	case TS_OP_MUNMAP_TWIN:
		result = map_again(op);
		break;
	}
	if (result || user_op_twin(op->op) == op->op)
		return result;
	for (i = 0; i < op->size; i += PAGE)
		*(volatile char *)(op->page + i) = 1;
	return 0;
}

int user_op_run(const struct user_op *op)
{
	switch (op->op) {
	case TS_OP_MPROTECT:
	case TS_OP_MPROTECT_TWIN:
		return failed(mprotect(op->page, op->size, PROT_READ));
	case TS_OP_MADVISE:
	case TS_OP_MADVISE_TWIN:
		return failed(madvise(op->page, op->size, MADV_DONTNEED));
	case TS_OP_MUNMAP:
	case TS_OP_MUNMAP_TWIN:
		return failed(munmap(op->page, op->size));
	}
	return 0;
}
