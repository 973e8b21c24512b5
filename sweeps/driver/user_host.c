// SPDX-License-Identifier: GPL-2.0
/*
 * The splinter check.
 *
 * A translation is cached in the smaller of guest's and host's page size (SDM vol. 3, 28.3.1; APM
 * vol. 2, 15.25.9). So a walk through all 512 pieces of one 2M page of this process needs one TLB
 * entry if the host has a 2M page behind it too, and 512 if the host has 4K pages; the first level
 * of no TLB holds as many, and each line costs the second level's latency more. Between two
 * references over the same number of lines in the same cache sets -
 *   packed  the lines side by side: the cache alone
 *   small   the lines over 512 pages of 4K with scattered frames: a TLB entry each, whatever the
 *           host does
 * - the walk through a 2M page comes out at one end or the other.
 *
 * What can break it:
 * - AMD CPUs join 4K entries that are contiguous in guest and host memory, four by four (PPR,
 *   "coalesced page"): a host of 4K pages may then look half splintered. That is the middle class,
 *   and counts for neither side.
 * - Frames of the 4K pages cannot be chosen. They are written in random order, so that neighbours
 *   in the address space are not neighbours in memory and do not get joined.
 * - No difference between the references (a first level that holds all 512, or an emulator):
 *   unknown.
 * - It tells about these regions, at this time. Other memory of the machine may be backed
 *   otherwise; a share near 0 or 1 over many regions makes that unlikely.
 */
#include "user_host.h"

#include "user_window.h"
#include "util.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LINES 1024
#define PIECES 512
#define PIECE 4096
#define POOL (4 * PIECES) /* pages to draw the scattered ones from */
#define MOST_REGIONS 64
#define PASSES 15
#define NEAR 0.25	   /* of the distance between the references */
#define SAME_SHARE 0.9	   /* regions that have to agree */
#define LEAST_DISTANCE 0.1 /* between the references, of packed */

int user_host_class(double packed, double small, double latency)
{
	double place = (latency - packed) / (small - packed);

	if (place <= NEAR)
		return TS_2M;
	return place >= 1 - NEAR ? TS_4K : -1;
}

static void shuffle(void **line, size_t n, u64 seed)
{
	size_t i, j;
	void *old;

	for (i = n; i-- > 1;) {
		j = statistics_random(&seed) % (i + 1);
		old = line[i];
		line[i] = line[j];
		line[j] = old;
	}
}

/*
 * Links the lines in a random order and returns cycles a line of a cached walk through them
 * (median).
 */
static double latency(void **line)
{
	double cycles[PASSES];
	size_t i;

	shuffle(line, LINES, 1);
	for (i = 0; i < LINES; i++)
		*(void **)line[i] = line[(i + 1) % LINES];
	for (i = 0; i < 3; i++)
		user_chase(line[0], LINES);
	for (i = 0; i < PASSES; i++)
		cycles[i] = (double)user_chase(line[0], LINES) / LINES;
	return statistics_median(cycles, PASSES);
}

/*
 * Two lines in each piece, together one in each set of a cache that is indexed by address bits 6 to
 * 15.
 */
static double spread_latency(char *pieces)
{
	void *line[LINES];
	size_t i;

	for (i = 0; i < LINES; i++)
		line[i] = pieces + i % PIECES * PIECE + (i + i / 64) % 64 * TS_LINE;
	return latency(line);
}

static double packed_latency(char *pieces)
{
	void *line[LINES];
	size_t i;

	for (i = 0; i < LINES; i++)
		line[i] = pieces + i * TS_LINE;
	return latency(line);
}

/*
 * Pages in whose neighbourhood no other is contiguous in memory; 0 when there is no memory for
 * them.
 */
static char *map_pool(void)
{
	void *page[POOL];
	char *pool = mmap(NULL, POOL * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	size_t i;

	if (pool == MAP_FAILED)
		return NULL;
	madvise(pool, POOL * PIECE, MADV_NOHUGEPAGE);
	for (i = 0; i < POOL; i++)
		page[i] = pool + i * PIECE;
	shuffle(page, POOL, 2);
	for (i = 0; i < POOL; i++)
		*(volatile char *)page[i] = 1;
	return pool;
}

static void keep_least(double *least, double value)
{
	if (!*least || value < *least)
		*least = value;
}

/*
 * Both references are the least over several sets of pages, and taken before and after the regions:
 * frames that clash in the cache, and another program's bursts, can only make them larger.
 */
static void look_references(struct user_host *host, char *pool)
{
	size_t i;

	for (i = 0; i < POOL; i += PIECES) {
		keep_least(&host->packed, packed_latency(pool + i * PIECE));
		keep_least(&host->small, spread_latency(pool + i * PIECE));
	}
}

static void look_regions(struct user_host *host, const struct user_window *window, char *pool)
{
	const struct ts_set *set = &window->e.set[0];
	double latencies[MOST_REGIONS];
	u64 i, n[TS_PAGES] = { 0 };
	int class;

	look_references(host, pool);
	for (i = 0; i < set->leaves; i++)
		latencies[i] = spread_latency((char *)(unsigned long)(set->va + i * set->step));
	look_references(host, pool);
	for (i = 0; i < set->leaves; i++) {
		class = user_host_class(host->packed, host->small, latencies[i]);
		n[class < 0 ? TS_1G : class]++;
	}
	host->regions = set->leaves;
	host->share_4k = (double)n[TS_4K] / host->regions;
	host->share_2m = (double)n[TS_2M] / host->regions;
	host->share_middle = (double)n[TS_1G] / host->regions;
	host->large = statistics_median(latencies, host->regions);
}

static void conclude(struct user_host *host)
{
	if (host->small - host->packed < LEAST_DISTANCE * host->packed) {
		host->why = "4K pages cost no more than cached lines here";
	} else if (host->share_4k >= SAME_SHARE) {
		host->host = "4k";
		host->why = "walks through 2M pages cost what walks over 4K pages cost";
	} else if (host->share_2m >= SAME_SHARE) {
		host->host = "2m";
		host->why = "walks through 2M pages cost what cached lines cost";
	} else {
		host->why = "regions differ, or lie between the references (AMD coalescing?)";
	}
}

void user_host_look(const struct user *user, struct user_host *host)
{
	u64 regions = user_memory_available() / 8 >> ts_page_shift(TS_2M);
	struct user_refusal refusal;
	struct user_window window;
	struct ts_error error;
	struct ts_case c;
	char *pool;

	*host = (struct user_host){ .host = "unknown", .why = "no memory for the check" };
	ts_case_init(&c);
	c.guest = TS_2M;
	c.leaves = regions < MOST_REGIONS ? regions : MOST_REGIONS;
	pool = regions && !ts_case_finish(&c, &error) ? map_pool() : NULL;
	if (pool && !user_window_map(&window, &c, &refusal)) {
		look_regions(host, &window, pool);
		user_window_unmap(&window);
		conclude(host);
	} else if (pool) {
		host->why = "no 2M page to look at";
	}
	if (pool)
		munmap(pool, POOL * PIECE);
	if (user->system.emulated) {
		host->host = "unknown";
		host->why = "the CPU is emulated";
	} else if (!user->system.hypervisor) {
		host->host = "none";
		host->why = "CPUID shows no hypervisor";
	}
}
