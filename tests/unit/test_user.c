// SPDX-License-Identifier: GPL-2.0
/*
 * Target user: smaps, the tracepoint's format, what the ops do to their pages, and the engine's
 * rules.
 */
#include "problem.h"
#include "user_host.h"
#include "user_smaps.h"
#include "user_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- smaps ---------------------------------------------------------------------------------- */

/* Recorded from Linux 6.1 and 6.18, shortened by fields that nobody reads. */
#define SMALL "7f0000000000-7f0000100000 rw-p 00000000 00:00 0 \n" \
	"Size:               1024 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n" \
	"Rss:                1024 kB\nAnonymous:          1024 kB\nAnonHugePages:         0 kB\n" \
	"ShmemPmdMapped:        0 kB\nFilePmdMapped:         0 kB\nShared_Hugetlb:        0 kB\n" \
	"Private_Hugetlb:       0 kB\nTHPeligible:           0\nVmFlags: rd wr mr mw me nr nh sd \n"
#define THP(huge) "7f0000200000-7f0000600000 rw-p 00000000 00:00 0 \n" \
	"Size:               4096 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n" \
	"Rss:                4096 kB\nAnonymous:          4096 kB\n" \
	"AnonHugePages:      " huge " kB\n" \
	"Private_Hugetlb:       0 kB\nTHPeligible:           1\nVmFlags: rd wr mr mw me nr hg sd \n"
#define HUGETLB(size) \
	"7f0040000000-7f0080000000 rw-p 00000000 00:10 77     /anon_hugepage (deleted)\n" \
	"Size:            1048576 kB\nKernelPageSize:  " size " kB\n" \
	"MMUPageSize:     " size " kB\n" \
	"Rss:                   0 kB\nAnonHugePages:         0 kB\nShared_Hugetlb:        0 kB\n" \
	"Private_Hugetlb: 1048576 kB\nVmFlags: rd wr mr mw me de ht sd \n"
#define VSYSCALL "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]\n" \
	"Size:                  4 kB\nKernelPageSize:        4 kB\nRss:                   0 kB\n"

static const char *size_of(const char *text, u64 start, u64 end)
{
	struct user_smaps smaps;
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	int result = user_smaps_read(file, start, end, &smaps);

	fclose(file);
	return result ? "none" : user_smaps_classify(&smaps);
}

static void smaps_sizes(void **state)
{
	static const char all[] = SMALL THP("4096") VSYSCALL;

	(void)state;
	assert_string_equal(size_of(all, 0x7f0000000000, 0x7f0000100000), "4k");
	assert_string_equal(size_of(all, 0x7f0000200000, 0x7f0000600000), "2m");
	assert_string_equal(size_of(all, 0x7f0000000000, 0x7f0000600000), "mixed");
	assert_string_equal(size_of(all, 0x7f0000100000, 0x7f0000200000), "none");
	assert_string_equal(size_of(THP("2048"), 0x7f0000200000, 0x7f0000600000), "mixed");
	assert_string_equal(size_of(THP("0"), 0x7f0000200000, 0x7f0000600000), "4k");
	assert_string_equal(size_of(HUGETLB("   2048"), 0x7f0040000000, 0x7f0080000000), "2m");
	assert_string_equal(size_of(HUGETLB("1048576"), 0x7f0040000000, 0x7f0080000000), "1g");
	assert_string_equal(size_of(SMALL HUGETLB("   2048"), 0x7f0000000000, 0x7f0080000000),
			    "mixed");
	assert_string_equal(size_of("", 0, ~0ULL), "none");
	assert_string_equal(size_of(VSYSCALL, 0xffffffffff600000, ~0ULL), "mixed");
}

static void smaps_of_itself(void **state)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 start = (u64)(unsigned long)page;

	(void)state;
	madvise(page, 4096, MADV_NOHUGEPAGE);
	page[0] = 1;
	assert_string_equal(user_smaps_size(start, start + 4096), "4k");
	munmap(page, 4096);
}

/* --- Tracepoint ----------------------------------------------------------------------------- */

static void trace_format(void **state)
{
	/* Recorded from Linux 6.1. */
	static const char format[] =
		"name: tlb_flush\nID: 105\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:int reason;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:unsigned long pages;\toffset:16;\tsize:8;\tsigned:0;\n\n"
		"print fmt: \"pages:%ld reason:%s (%d)\", REC->pages\n";
	unsigned int offset = 0;

	(void)state;
	assert_int_equal(user_trace_pages_offset(format, &offset), 0);
	assert_int_equal(offset, 16);
	assert_int_equal(user_trace_pages_offset("", &offset), -EINVAL);
	assert_int_equal(user_trace_pages_offset("field:unsigned long pages;\tsize:8;", &offset),
			 -EINVAL);
}

/* --- Ops ------------------------------------------------------------------------------------ */

static const u64 families[] = { TS_OP_MPROTECT, TS_OP_MADVISE, TS_OP_MUNMAP };

static void twins_and_table(void **state)
{
	u64 op;

	(void)state;
	for (op = 0; op < TS_OPS; op++) {
		assert_int_equal(user_op_known(op),
				 op == TS_OP_NONE || !!(ts_ops[op].needs & TS_SYSCALLS));
		if (!user_op_known(op) || ts_ops[op].class == TS_CLASS_NONE) {
			assert_int_equal(user_op_twin(op), op);
			continue;
		}
		assert_int_equal(ts_ops[user_op_twin(op)].class, TS_CLASS_NONE);
		/* mprotect, mprotect-twin */
		assert_memory_equal(ts_ops[user_op_twin(op)].name, ts_ops[op].name,
				    strlen(ts_ops[op].name));
	}
}

static u64 resident(const struct user_op *op)
{
	u64 start = (u64)(unsigned long)op->area;
	struct user_smaps smaps;
	FILE *file = fopen("/proc/self/smaps", "r");

	assert_non_null(file);
	assert_int_equal(user_smaps_read(file, start, start + op->area_size, &smaps), 0);
	fclose(file);
	return smaps.rss >> 12;
}

/*
 * Can the kernel write there? Asked by a read(2), which says EFAULT where a store would be a
 * signal.
 */
static int writable(char *page)
{
	int ends[2], result;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	result = read(ends[0], page, 1);
	close(ends[0]);
	close(ends[1]);
	return result == 1;
}

static void ops_take_pages_away(void **state)
{
	static const u64 counts[] = { 1, 33, 511, 512 };
	struct ts_case c;
	struct user_op op;
	size_t i, j;

	(void)state;
	ts_case_init(&c);
	for (i = 0; i < TS_COUNT(families); i++) {
		for (j = 0; j < TS_COUNT(counts); j++) {
			c.op = families[i];
			c.count = counts[j];
			assert_int_equal(user_op_create(&op, &c), 0);
			assert_int_equal(user_op_prepare(&op), 0);
			/* Two anchors beside the pages. */
			assert_int_equal(resident(&op), c.count + 2);
			assert_int_equal(user_op_run(&op), 0);
			if (c.op == TS_OP_MPROTECT)
				assert_false(writable(op.page + op.size - 4096));
			else
				assert_int_equal(resident(&op), 2);
			if (c.op == TS_OP_MADVISE)
				assert_int_equal(op.page[0], 0);
			assert_int_equal(user_op_prepare(&op), 0);
			assert_int_equal(op.page[op.size - 4096], 1);
			user_op_destroy(&op);
		}
	}
}

static void twins_touch_nothing(void **state)
{
	struct ts_case c;
	struct user_op op;
	size_t i;
	int round;

	(void)state;
	ts_case_init(&c);
	for (i = 0; i < TS_COUNT(families); i++) {
		c.op = user_op_twin(families[i]);
		c.count = 64;
		assert_int_equal(user_op_create(&op, &c), 0);
		for (round = 0; round < 3; round++) {
			assert_int_equal(user_op_prepare(&op), 0);
			assert_int_equal(resident(&op), 2);
			assert_int_equal(user_op_run(&op), 0);
			assert_int_equal(resident(&op), 2);
		}
		user_op_destroy(&op);
	}
}

static size_t lines_of(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t n = 0;
	int byte;

	assert_non_null(file);
	while ((byte = fgetc(file)) != EOF)
		n += byte == '\n';
	fclose(file);
	return n;
}

static void thousand_rounds_leave_nothing(void **state)
{
	struct user_op op[6];
	struct ts_case c;
	size_t i, before = 0;
	int round;

	(void)state;
	ts_case_init(&c);
	c.count = 34;
	for (i = 0; i < 6; i++) {
		c.op = i % 2 ? user_op_twin(families[i / 2]) : families[i / 2];
		assert_int_equal(user_op_create(&op[i], &c), 0);
	}
	for (round = 0; round < 1000; round++) {
		for (i = 0; i < 6; i++) {
			assert_int_equal(user_op_prepare(&op[i]), 0);
			assert_int_equal(user_op_run(&op[i]), 0);
		}
		if (round == 10)
			before = lines_of("/proc/self/maps");
	}
	/* malloc may have mapped something meanwhile; the ops would have left thousands. */
	assert_in_range(lines_of("/proc/self/maps"), before - 8, before + 8);
	for (i = 0; i < 6; i++)
		user_op_destroy(&op[i]);
}

/* --- Window ---------------------------------------------------------------------------------- */

static struct ts_case parse(const char *line)
{
	struct ts_error error;
	struct ts_case c;

	if (ts_case_parse(line, &c, &error))
		fail_msg("%s: %s: %s", line, error.word, error.hint);
	return c;
}

/* Every line of the set is on the chain once, whatever the order is named. */
static void window_chain(void **state)
{
	static const char *const lines[] = {
		"phase=retouch guest=4k leaves=50",
		"phase=retouch guest=4k leaves=4 touches=256 stride=64 offset=0",
		"phase=retouch guest=4k leaves=16 stride=2m",
		"phase=retouch guest=4k leaves=8 access=write",
		"phase=retouch guest=4k leaves=8 order=sequential",
		"phase=retouch guest=4k leaves=8 order=sequential access=write",
		"phase=retouch guest=4k leaves=8 mix=2m:2",
	};
	struct user_refusal refusal = { 0 };
	struct user_window window;
	u64 i, n, *at;
	size_t l;

	(void)state;
	for (l = 0; l < TS_COUNT(lines); l++) {
		struct ts_case c = parse(lines[l]);

		if (user_window_map(&window, &c, &refusal)) {
			/*
			 * 128 GiB apart, which not every limit (nor valgrind) allows, or no 2M
			 * pages.
			 */
			if (c.mix)
				continue;
			fail_msg("%s: %s", lines[l], refusal.text);
		}
		assert_true(user_window_pass(&window) > 0);
		at = (u64 *)(unsigned long)window.touch[0];
		for (i = 0, n = window.e.touches; i < n; i++) {
			assert_ptr_equal(at, (void *)(unsigned long)window.touch[i]);
			at = (u64 *)(unsigned long)*at;
		}
		assert_ptr_equal(at, (void *)(unsigned long)window.touch[0]);
		assert_int_equal(user_window_verify(&window), 0);
		assert_memory_equal(window.how, c.mix ? "4k+" : "4k", 3);
		user_window_unmap(&window);
	}
}

static void window_notices_other_pages(void **state)
{
	struct user_refusal refusal = { 0 };
	struct user_window window;
	struct ts_case c = parse("phase=retouch guest=2m leaves=2");

	(void)state;
	if (user_window_map(&window, &c, &refusal)) {
		assert_string_equal(refusal.reason, "no-huge-page");
		skip();
	}
	if (!strcmp(window.how, "hugetlb")) {
		user_window_unmap(&window);
		skip();
	}
	assert_int_equal(user_window_verify(&window), 0);
	/* Giving back one small page splits the large one. */
	madvise((char *)window.set[0].start + 4096, 4096, MADV_DONTNEED);
	assert_int_equal(user_window_verify(&window), -EIO);
	assert_non_null(strchr(window.how, '>'));
	user_window_unmap(&window);
}

static void window_refuses_what_does_not_fit(void **state)
{
	struct user_refusal refusal = { 0 };
	struct user_window window;
	struct ts_case c = parse("phase=retouch guest=2m leaves=16384");

	(void)state;
	if (user_memory_available() > c.leaves << 21)
		skip();
	assert_int_equal(user_window_map(&window, &c, &refusal), -ENOTSUP);
	assert_string_equal(refusal.reason, "no-memory");
	assert_non_null(strstr(refusal.text, "remedy"));
}

/* --- Engine ---------------------------------------------------------------------------------- */

static void engine_refuses(void **state)
{
	static const struct {
		const char *line, *hint;
	} wrong[] = {
		{ "phase=retouch op=invlpg at=mapped guest=4k leaves=8", "ring 0" },
		{ "phase=refill op=mprotect at=mapped guest=4k leaves=8", "phase retouch" },
		{ "phase=retouch op=mprotect at=far guest=4k leaves=8", "at = mapped" },
		{ "phase=retouch op=none guest=4k leaves=8 frames=scattered", "frames" },
	};
	struct user_result result;
	struct user user;
	size_t i;

	(void)state;
	user_open(&user);
	for (i = 0; i < TS_COUNT(wrong); i++) {
		struct ts_case c = parse(wrong[i].line);

		assert_int_equal(user_measure(&user, &c, 1, &result), 0);
		assert_non_null(result.refusal.reason);
		assert_string_equal(result.refusal.reason, "no-feature");
		assert_non_null(strstr(result.refusal.text, wrong[i].hint));
	}
	user_close(&user);
}

/*
 * Which conditions get an F, and that the references are none of them; what F is depends on the
 * machine.
 */
static void engine_references(void **state)
{
	static const char *const lines[] = {
		"op=none", "op=mprotect-twin count=1", "op=mprotect count=1",
		"op=mprotect count=64",
		"op=mprotect-twin count=2", "op=mprotect count=65", "op=invlpg",
	};
	enum { N = TS_COUNT(lines) };
	struct user_result result[N];
	struct ts_case c[N];
	struct user user;
	char line[160];
	size_t i;

	(void)state;
	user_open(&user);
	user.limits.seconds = 0.3;
	for (i = 0; i < N; i++) {
		snprintf(line, sizeof(line), "phase=retouch at=mapped leaves=64 iterations=40 %s",
			 lines[i]);
		c[i] = parse(line);
	}
	assert_int_equal(user_measure(&user, c, N, result), 0);
	assert_string_equal(result[6].refusal.reason, "no-feature");
	for (i = 0; i < 6; i++) {
		assert_null(result[i].refusal.reason);
		assert_true(result[i].cycles > 0);
		assert_true(result[i].rounds >= 20);
		assert_string_equal(result[i].guest_how, "4k");
		assert_int_equal(result[i].op_cycles > 0, i > 0);
		assert_int_equal(result[i].op_va % 4096, 0);
	}
	assert_int_equal(result[2].class, TS_CLASS_SELECTIVE);
	assert_int_equal(result[3].class, TS_CLASS_FULL);
	assert_false(result[0].has_f || result[1].has_f || result[3].has_f);
	for (i = 4; i < 6; i++)
		assert_true(result[i].has_f || result[i].reason);
	user_close(&user);
}

static void engine_stops_when_interrupted(void **state)
{
	struct ts_case c = parse("phase=retouch op=none leaves=8");
	struct user_result result;
	struct user user;

	(void)state;
	user_open(&user);
	interrupted = 1;
	assert_int_equal(user_measure(&user, &c, 1, &result), -EINTR);
	interrupted = 0;
	user_close(&user);
}

static void affinity_is_put_back(void **state)
{
	cpu_set_t before, after;
	struct user_pin pin;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	user_pin(&pin);
	if (pin.cpu >= 0)
		assert_int_equal(sched_getcpu(), pin.cpu);
	user_unpin(&pin);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

static void host_classes(void **state)
{
	(void)state;
	assert_int_equal(user_host_class(4, 12, 4), TS_2M);
	assert_int_equal(user_host_class(4, 12, 3), TS_2M);
	assert_int_equal(user_host_class(4, 12, 6), TS_2M);
	assert_int_equal(user_host_class(4, 12, 6.1), -1);
	assert_int_equal(user_host_class(4, 12, 9.9), -1);
	assert_int_equal(user_host_class(4, 12, 10), TS_4K);
	assert_int_equal(user_host_class(4, 12, 20), TS_4K);
}

static void host_check_is_complete(void **state)
{
	struct user_host host;
	struct user user;

	(void)state;
	user_open(&user);
	user_host_look(&user, &host);
	user_close(&user);
	assert_non_null(host.why);
	if (!user.system.hypervisor)
		assert_string_equal(host.host, "none");
	if (!host.regions)
		skip();
	assert_true(host.packed > 0 && host.small > 0 && host.large > 0);
	assert_true(host.share_4k + host.share_2m + host.share_middle > 0.999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smaps_sizes),
		cmocka_unit_test(smaps_of_itself),
		cmocka_unit_test(trace_format),
		cmocka_unit_test(twins_and_table),
		cmocka_unit_test(ops_take_pages_away),
		cmocka_unit_test(twins_touch_nothing),
		cmocka_unit_test(thousand_rounds_leave_nothing),
		cmocka_unit_test(window_chain),
		cmocka_unit_test(window_notices_other_pages),
		cmocka_unit_test(window_refuses_what_does_not_fit),
		cmocka_unit_test(engine_refuses),
		cmocka_unit_test(engine_references),
		cmocka_unit_test(engine_stops_when_interrupted),
		cmocka_unit_test(affinity_is_put_back),
		cmocka_unit_test(host_classes),
		cmocka_unit_test(host_check_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
