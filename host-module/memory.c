// SPDX-License-Identifier: GPL-2.0
/*
 * Pages for page tables and windows.
 *
 * A window's 4K leaves lie in 2M frames, as in the guest image, so that neighbours are contiguous
 * or not as the case wants, and never by chance. Frames are blocks of 512 pages, which the buddy
 * allocator aligns to their size; those below 16 MiB are left alone. A gigabyte for 1G leaves is
 * more than the buddy allocator has: where the kernel exports alloc_contig_range(), whole gigabytes
 * are searched for one that can be emptied.
 *
 * A window takes at most half of what is available, and no allocation may call the OOM killer:
 * what does not fit is refused.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/moduleparam.h>
#include <linux/pfn.h>
#include <linux/vmalloc.h>

#include "host.h"

#define ORDER_2M 9
#define PAGES_2M (1UL << ORDER_2M)
#define PAGES_1G (1UL << 18)
#define LOWEST_PFN ((16UL << 20) >> PAGE_SHIFT)
#define MAX_LOW_FRAMES 8 /* 2M frames below 16 MiB */

static int fail_alloc;
module_param(fail_alloc, int, 0600);
MODULE_PARM_DESC(fail_alloc, "the n-th allocation from now on fails, for tests of the error paths");

static atomic_long_t held = ATOMIC_LONG_INIT(0);

u8 ts_alloc_fails(void)
{
	int left = READ_ONCE(fail_alloc);

	if (left <= 0)
		return 0;
	WRITE_ONCE(fail_alloc, left - 1);
	return left == 1;
}

void *ts_vzalloc(size_t size)
{
	return ts_alloc_fails() ? NULL : vzalloc(size);
}

struct page *ts_alloc_pages(gfp_t flags, u32 order)
{
	struct page *page = ts_alloc_fails() ? NULL : alloc_pages(flags | __GFP_NOWARN, order);

	if (page)
		atomic_long_add(1L << order, &held);
	return page;
}

void ts_free_pages(struct page *page, u32 order)
{
	__free_pages(page, order);
	atomic_long_sub(1L << order, &held);
}

u64 ts_pages_held(void)
{
	return atomic_long_read(&held);
}

u64 ts_pages_available(void)
{
	return (u64)max(si_mem_available(), 0L) / 2 * PAGE_SIZE;
}

int ts_pages_init(struct ts_pages *pages)
{
	xa_init(&pages->frames);
	pages->table = ts_vzalloc(array_size(TS_MAX_TABLES, sizeof(*pages->table)));
	return pages->table ? 0 : -ENOMEM;
}

void ts_pages_start(struct ts_pages *pages)
{
	pages->budget = ts_pages_available() / PAGE_SIZE;
}

#ifdef TS_HAVE_CONTIG
static void free_gigabytes(struct ts_pages *pages)
{
	while (pages->gigabytes) {
		free_contig_range(pages->gigabyte[--pages->gigabytes], PAGES_1G);
		atomic_long_sub(PAGES_1G, &held);
	}
	pages->searched = 0;
}
#else
static void free_gigabytes(struct ts_pages *pages)
{
}
#endif

void ts_pages_release(struct ts_pages *pages)
{
	struct page *frame;
	unsigned long n;

	xa_for_each(&pages->frames, n, frame)
		ts_free_pages(frame, ORDER_2M);
	xa_destroy(&pages->frames);
	while (pages->tables) {
		pages->tables--;
		set_page_private(pages->table[pages->tables], 0);
		ts_free_pages(pages->table[pages->tables], 0);
	}
	free_gigabytes(pages);
}

void ts_pages_destroy(struct ts_pages *pages)
{
	vfree(pages->table);
	pages->table = NULL;
}

/* The page's number, by which its alias is found, goes into page_private(). */
u64 *ts_pages_table(void *context, u64 *physical)
{
	struct ts_pages *pages = context;
	struct page *page;

	if (pages->tables == TS_MAX_TABLES || !pages->budget || kthread_should_stop())
		return NULL;
	page = ts_alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY, 0);
	if (!page)
		return NULL;
	pages->budget--;
	set_page_private(page, pages->tables);
	pages->table[pages->tables++] = page;
	*physical = page_to_phys(page);
	return page_address(page);
}

u64 *ts_pages_reach(void *context, u64 physical)
{
	return phys_to_virt(physical);
}

/* A 2M frame above 16 MiB. Low ones that come first are kept aside until a high one has come. */
static struct page *alloc_frame(void)
{
	struct page *low[MAX_LOW_FRAMES], *page;
	u32 n = 0;

	for (;;) {
		page = ts_alloc_pages(GFP_KERNEL | __GFP_RETRY_MAYFAIL, ORDER_2M);
		if (!page || page_to_pfn(page) >= LOWEST_PFN || n == MAX_LOW_FRAMES)
			break;
		low[n++] = page;
	}
	if (page && page_to_pfn(page) < LOWEST_PFN) {
		ts_free_pages(page, ORDER_2M);
		page = NULL;
	}
	while (n)
		ts_free_pages(low[--n], ORDER_2M);
	return page;
}

static u64 frame_2m(struct ts_pages *pages, u64 n)
{
	struct page *page = xa_load(&pages->frames, n);

	if (page)
		return page_to_phys(page);
	if (pages->budget < PAGES_2M || kthread_should_stop())
		return 0;
	page = alloc_frame();
	if (!page)
		return 0;
	if (ts_alloc_fails() || xa_err(xa_store(&pages->frames, n, page, GFP_KERNEL))) {
		ts_free_pages(page, ORDER_2M);
		return 0;
	}
	pages->budget -= PAGES_2M;
	cond_resched();
	return page_to_phys(page);
}

#ifdef TS_HAVE_CONTIG
#ifdef TS_HAVE_ACR_FLAGS
#define HOW ACR_FLAGS_NONE
#else
#define HOW MIGRATE_MOVABLE
#endif

/*
 * May [pfn, pfn + 1G) be emptied? All of it online, in one zone, nothing reserved. Looks at one
 * page of every 2M only to be quick; alloc_contig_range() itself finds what cannot be moved.
 */
static bool gigabyte_worth_trying(unsigned long pfn)
{
	struct page *first = pfn_to_online_page(pfn), *page;
	unsigned long i;

	for (i = 0; i < PAGES_1G; i += PAGES_2M) {
		page = pfn_to_online_page(pfn + i);
		if (!page || PageReserved(page) || page_zone(page) != page_zone(first))
			return false;
	}
	page = pfn_to_online_page(pfn + PAGES_1G - 1);
	return page && page_zone(page) == page_zone(first);
}

/* Takes up to TS_MAX_GIGABYTES aligned gigabytes, the highest that there are. */
static void find_gigabytes(struct ts_pages *pages)
{
	unsigned long end, pfn;
	int node;

	pages->searched = 1;
	for_each_online_node(node) {
		end = node_end_pfn(node) & ~(PAGES_1G - 1);
		for (pfn = end; pfn >= node_start_pfn(node) + PAGES_1G && pfn > PAGES_1G;) {
			pfn -= PAGES_1G;
			if (pages->gigabytes == TS_MAX_GIGABYTES || pages->budget < PAGES_1G)
				return;
			cond_resched();
			if (!gigabyte_worth_trying(pfn) || ts_alloc_fails() ||
			    alloc_contig_range(pfn, pfn + PAGES_1G, HOW, GFP_KERNEL | __GFP_NOWARN))
				continue;
			pages->gigabyte[pages->gigabytes++] = pfn;
			pages->budget -= PAGES_1G;
			atomic_long_add(PAGES_1G, &held);
		}
	}
}
#else
static void find_gigabytes(struct ts_pages *pages)
{
}
#endif

static u64 frames(void *context, u64 page)
{
	struct ts_pages *pages = context;

	if (page != TS_1G)
		return pages->budget / PAGES_2M;
	if (!pages->searched)
		find_gigabytes(pages);
	return pages->gigabytes;
}

static u64 frame(void *context, u64 page, u64 n)
{
	struct ts_pages *pages = context;

	if (page != TS_1G)
		return frame_2m(pages, n);
	return n < frames(context, TS_1G) ? PFN_PHYS(pages->gigabyte[n]) : 0;
}

const struct ts_memory ts_frames_of = { .frame = frame, .frames = frames };
