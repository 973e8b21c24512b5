// SPDX-License-Identifier: GPL-2.0
/*
 * Sweeps: what a list of values expands to. Numbers of cases come from arithmetic on the lists;
 * which key matters to which case is written down again here, from the description of a case: an
 * op without an address has no page and no count, phase access has no op, phase op touches
 * nothing, and only the chase order is random.
 */
#include "truth.h"

#include "sweep.h"

#define MAX_CASES 4096

struct visits {
	u32 n, conflicts;
	struct ts_case c[MAX_CASES];
};

static struct visits visits;

static void parse(const char *line, struct ts_sweep *sweep)
{
	struct ts_error error;
	enum ts_status status = ts_sweep_parse(line, sweep, &error);

	if (status)
		fail_msg("%s: %s %s", line, ts_status_name(status), error.word);
}

/* Walks to the end, which has to stay the end. */
static void visit(const struct ts_sweep *sweep)
{
	struct ts_cursor cursor = { 0 };
	struct ts_error error = { 0 };
	struct ts_case c;
	int more, i;

	visits.n = visits.conflicts = 0;
	while ((more = ts_sweep_next(sweep, &cursor, &c, &error))) {
		if (more > 0) {
			assert_int_equal(more, 1);
			assert_true(visits.n < MAX_CASES);
			visits.c[visits.n++] = c;
			continue;
		}
		assert_int_equal(more, -1);
		assert_int_equal(error.status, TS_CONFLICT);
		assert_true(error.word[0] != 0);
		visits.conflicts++;
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(ts_sweep_next(sweep, &cursor, &c, &error), 0);
}

static void visit_line(const char *line)
{
	struct ts_sweep sweep;

	parse(line, &sweep);
	visit(&sweep);
}

static int compare_cases(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ts_case));
}

static void assert_none_twice(void)
{
	u32 i;

	qsort(visits.c, visits.n, sizeof(visits.c[0]), compare_cases);
	for (i = 1; i < visits.n; i++)
		assert_memory_not_equal(&visits.c[i - 1], &visits.c[i], sizeof(visits.c[0]));
}

static void test_counts(void **state)
{
	static const struct {
		const char *line;
		u32 cases, conflicts;
	} table[] = {
		{ "", 1, 0 },
		{ "op=cr3", 1, 0 },
		{ "op=none,cr3,pge", 3, 0 },
		{ "guest=4k,2m,1g leaves=1,2,4,8", 12, 0 },
		{ "guest=4k,2m leaves=1,2 global=0,1 access=read,write order=chase,sequential", 32,
		  0 },
		/* none and cr3 once, invlpg at both pages: 4 in a cell */
		{ "op=none,invlpg,cr3 at=far,mapped", 4, 0 },
		{ "op=none,invlpg,cr3 at=far,mapped guest=4k,2m leaves=16,32", 16, 0 },
		{ "op=none,invlpg at=far,mapped,in-set count=1,2,4", 1 + 3 * 3, 0 },
		{ "op=none,invlpg,invpcid-addr,cr3 at=far,mapped count=1,2", 1 + 4 + 4 + 1, 0 },
		/* sequential has no seed, chase three */
		{ "order=sequential,chase seed=1,2,3", 4, 0 },
		/* (1 + 3) orders x 2 accesses, and phase op with neither */
		{ "phase=refill,op order=sequential,chase access=read,write seed=1,2,3", 9, 0 },
		{ "phase=access op=none,cr3,pge", 1, 0 },
		{ "phase=access op=invlpg,cr3 at=far,mapped count=1,2", 1, 0 },
		{ "phase=both,op,access op=none,cr3", 5, 0 },
		{ "phase=both,op,access op=none,invlpg at=far,mapped", 3 + 3 + 1, 0 },
		/* contradictions: 1g is never scattered; cr3-keep needs pcid */
		{ "guest=4k,1g frames=contiguous,scattered", 3, 1 },
		{ "op=cr3,cr3-keep pcid=0,1", 3, 1 },
		{ "guest=1g frames=scattered leaves=1,2,4", 0, 3 },
		{ "op=invlpg,cr3 at=none,far", 2, 1 },
		{ "leaves=4,16 touches=8,16,64 guest=2m", 3 + 2, 1 },
		{ "phase=refill,both iterations=100,65537", 3, 1 },
		{ "mix=none,4k:8,2m:8", 3, 0 },
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		visit_line(table[i].line);
		if (visits.n != table[i].cases || visits.conflicts != table[i].conflicts)
			fail_msg("%s: %u cases, %u conflicts", table[i].line, visits.n,
				 visits.conflicts);
		assert_none_twice();
	}
}

/* Repetitions are the caller's loop: they do not multiply the walk. */
static void test_repeats(void **state)
{
	struct ts_sweep sweep;

	(void)state;
	parse("guest=4k,2m repeats=3", &sweep);
	assert_int_equal(sweep.repeats, 3);
	visit(&sweep);
	assert_int_equal(visits.n, 2);
	parse("guest=4k,2m", &sweep);
	assert_int_equal(sweep.repeats, 1);
	parse("repeats=10000", &sweep);
	assert_int_equal(sweep.repeats, 10000);
}

/* Each case is finished, and nothing that was not listed differs from the standard. */
static void test_cases_are_finished(void **state)
{
	struct ts_case expected;

	(void)state;
	visit_line("guest=2m leaves=8");
	expected = case_of("guest=2m leaves=8");
	assert_int_equal(visits.n, 1);
	assert_memory_equal(&visits.c[0], &expected, sizeof(expected));
	visit_line("op=cr3 at=mapped count=4");
	expected = case_of("op=cr3");
	assert_memory_equal(&visits.c[0], &expected, sizeof(expected));
}

static u8 same_cell(const struct ts_case *a, const struct ts_case *b)
{
	struct ts_case x = *a, y = *b;

	x.op = y.op = x.at = y.at = x.count = y.count = 0;
	return !memcmp(&x, &y, sizeof(x));
}

/*
 * The op changes fastest, and a cell (all but the op and its pages) is done before the next
 * begins.
 */
static void test_controls_beside(void **state)
{
	static const u64 ops[] = { TS_OP_NONE, TS_OP_INVLPG, TS_OP_CR3, TS_OP_INVLPG };
	static const u64 pages[] = { TS_AT_NONE, TS_AT_FAR, TS_AT_NONE, TS_AT_MAPPED };
	u32 i, j, changes = 0;

	(void)state;
	visit_line("guest=4k,2m op=none,invlpg,cr3 leaves=16,32 at=far,mapped access=read,write");
	assert_int_equal(visits.n, 32);
	for (i = 0; i < 32; i++) {
		assert_int_equal(visits.c[i].op, ops[i % 4]);
		assert_int_equal(visits.c[i].at, pages[i % 4]);
		assert_true(same_cell(&visits.c[i], &visits.c[i / 4 * 4]));
	}
	for (i = 0; i < 32; i += 4)
		for (j = 0; j < i; j += 4)
			assert_false(same_cell(&visits.c[i], &visits.c[j]));
	/* Of the other axes the last key changes fastest: access, then leaves, then guest. */
	for (i = 4; i < 32; i += 4) {
		assert_int_equal(visits.c[i].access, i / 4 % 2);
		assert_int_equal(visits.c[i].leaves, i / 8 % 2 ? 32 : 16);
		assert_int_equal(visits.c[i].guest, i / 16 % 2);
		changes++;
	}
	assert_int_equal(changes, 7);
}

/* Values come in the order of the list, not sorted. */
static void test_list_order(void **state)
{
	static const u64 leaves[] = { 64, 1, 16 };
	u32 i;

	(void)state;
	visit_line("leaves=64,1,16");
	assert_int_equal(visits.n, 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(visits.c[i].leaves, leaves[i]);
}

static void test_conflict_goes_on(void **state)
{
	struct ts_cursor cursor = { 0 };
	struct ts_error error = { 0 };
	struct ts_sweep sweep;
	struct ts_case c;

	(void)state;
	parse("op=none,cr3-keep,cr3", &sweep);
	assert_int_equal(ts_sweep_next(&sweep, &cursor, &c, &error), 1);
	assert_int_equal(c.op, TS_OP_NONE);
	assert_int_equal(ts_sweep_next(&sweep, &cursor, &c, &error), -1);
	assert_int_equal(error.status, TS_CONFLICT);
	assert_string_equal(error.word, "pcid");
	assert_int_equal(ts_sweep_next(&sweep, &cursor, &c, &error), 1);
	assert_int_equal(c.op, TS_OP_CR3);
	assert_int_equal(ts_sweep_next(&sweep, &cursor, &c, &error), 0);
}

/*
 * touches=0 and stride=0 stand for values that may be in the list as well: the case is the same
 * one.
 */
/* 0 stands for a derived value, which another value of the list could repeat: it is listed alone. */
static void test_derived_not_twice(void **state)
{
	static const char *const lines[] = { "leaves=16 touches=0,16", "guest=4k stride=4k,0,8k" };
	struct ts_sweep sweep;
	struct ts_error error;
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++)
		assert_int_equal(ts_sweep_parse(lines[i], &sweep, &error), TS_CONFLICT);
	visit_line("leaves=16 touches=16,32 guest=2m");
	assert_none_twice();
}

static void test_refused(void **state)
{
	static const struct {
		const char *line;
		enum ts_status status;
		const char *word;
	} table[] = {
		{ "colour=red", TS_UNKNOWN_KEY, "colour" },
		{ "host=4k,2m", TS_UNKNOWN_KEY, "host" },
		{ "repeat=1,2", TS_UNKNOWN_KEY, "repeat" },
		{ "op=none op=cr3", TS_DUPLICATE_KEY, "op" },
		{ "repeats=1 repeats=1", TS_DUPLICATE_KEY, "repeats" },
		{ "op=none,cr3,none", TS_DUPLICATE_KEY, "none" },
		{ "leaves=16,0x10", TS_DUPLICATE_KEY, "0x10" },
		{ "leaves", TS_MISSING_VALUE, "leaves" },
		{ "leaves=", TS_MISSING_VALUE, "leaves=" },
		{ "leaves=,", TS_MISSING_VALUE, "leaves" },
		{ "leaves=1,", TS_MISSING_VALUE, "leaves" },
		{ "leaves=,1", TS_MISSING_VALUE, "leaves" },
		{ "leaves=1,,2", TS_MISSING_VALUE, "leaves" },
		{ "leaves=1, 2", TS_MISSING_VALUE, "leaves" },
		{ "op=none,flush", TS_UNKNOWN_VALUE, "flush" },
		{ "leaves=1,0", TS_OUT_OF_RANGE, "0" },
		{ "leaves=1,x", TS_BAD_NUMBER, "x" },
		{ "seed=1,18446744073709551616", TS_OVERFLOW, "18446744073709551616" },
		{ "repeats=0", TS_OUT_OF_RANGE, "0" },
		{ "repeats=10001", TS_OUT_OF_RANGE, "10001" },
		{ "repeats=two", TS_BAD_NUMBER, "two" },
		{ "repeats=1,2", TS_BAD_NUMBER, "1,2" },
		{ "repeats=99999999999g", TS_OVERFLOW, "99999999999g" },
		{ "seed=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,"
		  "29,30,31,32,33",
		  TS_TOO_LONG, "seed" },
	};
	struct ts_error error;
	struct ts_sweep sweep;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		enum ts_status status = ts_sweep_parse(table[i].line, &sweep, &error);

		if (status != table[i].status || error.status != status ||
		    strcmp(error.word, table[i].word))
			fail_msg("%s: %s %s", table[i].line, ts_status_name(status), error.word);
	}
	visit_line("seed=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,"
		   "28,29,30,31,32");
	assert_int_equal(visits.n, 32);
}

/* A list that is refused leaves the axis as it was; a good one replaces it. */
static void test_set(void **state)
{
	struct ts_error error;
	struct ts_sweep sweep;

	(void)state;
	parse("leaves=1,2 repeats=5", &sweep);
	assert_int_equal(ts_sweep_set(&sweep, "leaves", 6, "4,0", 3, &error), TS_OUT_OF_RANGE);
	assert_int_equal(sweep.axis[TS_KEY_LEAVES].n, 2);
	assert_int_equal(sweep.axis[TS_KEY_LEAVES].value[1], 2);
	/* Only the bytes inside the lengths count. */
	assert_int_equal(ts_sweep_set(&sweep, "leaves16", 6, "4,8,16", 3, &error), TS_OK);
	assert_int_equal(sweep.axis[TS_KEY_LEAVES].n, 2);
	assert_int_equal(sweep.axis[TS_KEY_LEAVES].value[0], 4);
	assert_int_equal(sweep.axis[TS_KEY_LEAVES].value[1], 8);
	assert_int_equal(ts_sweep_set(&sweep, "repeats", 7, "9", 1, &error), TS_OK);
	assert_int_equal(sweep.repeats, 9);
}

/* --- Against a second enumeration ------------------------------------------------------------ */

static u8 matters(const struct ts_case *c, u32 key)
{
	u8 has_op = c->phase != TS_ACCESS, has_touches = c->phase != TS_OP;

	if (key == TS_KEY_OP)
		return has_op;
	if (key == TS_KEY_AT || key == TS_KEY_COUNT)
		return has_op && (c->op == TS_OP_INVLPG || c->op == TS_OP_INVPCID_ADDR);
	if (key == TS_KEY_ORDER || key == TS_KEY_ACCESS)
		return has_touches;
	if (key == TS_KEY_SEED)
		return has_touches && c->order == TS_CHASE;
	return 1;
}

/* Counts the combinations, key by key, in which no key without effect is at a second value. */
static void count_all(const struct ts_sweep *sweep, struct ts_case *c, u32 *index, u32 key,
		      u32 *cases, u32 *conflicts)
{
	struct ts_case finished;
	struct ts_error error;
	u32 i, k;

	if (key < TS_KEYS) {
		const struct ts_axis *axis = &sweep->axis[key];

		index[key] = 0;
		if (!axis->n)
			count_all(sweep, c, index, key + 1, cases, conflicts);
		for (i = 0; i < axis->n; i++) {
			index[key] = i;
			((u64 *)c)[key] = axis->value[i];
			count_all(sweep, c, index, key + 1, cases, conflicts);
		}
		return;
	}
	for (k = 0; k < TS_KEYS; k++)
		if (index[k] && !matters(c, k))
			return;
	finished = *c;
	if (ts_case_finish(&finished, &error))
		++*conflicts;
	else
		++*cases;
}

/* Each axis is given or not, with some of the values of its pool. */
static void random_sweep(u64 *random, char *line, size_t size)
{
	static const char *const pool[][6] = {
		{ "op", "none", "invlpg", "cr3", "cr3-keep", "invpcid-addr" },
		{ "at", "far", "mapped", "none", "in-set", "next-2m" },
		{ "count", "1", "2", "4" },
		{ "guest", "4k", "2m", "1g" },
		{ "pcid", "0", "1" },
		{ "leaves", "1", "16", "40" },
		{ "touches", "40", "64" },
		{ "frames", "contiguous", "scattered" },
		{ "mix", "none", "2m:8" },
		{ "order", "chase", "sequential" },
		{ "access", "read", "write" },
		{ "phase", "refill", "op", "both", "access", "retouch" },
		{ "seed", "1", "2", "3" },
	};
	const char *before;
	size_t used = 0;
	u32 i, j;

	*line = 0;
	for (i = 0; i < TS_COUNT(pool); i++) {
		if (random_below(random, 2))
			continue;
		before = "=";
		for (j = 1; j < 6 && pool[i][j]; j++) {
			if (random_below(random, 2))
				continue;
			used += snprintf(line + used, size - used, "%s%s%s",
					 *before == '=' ? pool[i][0] : "", before, pool[i][j]);
			before = ",";
		}
		if (*before == ',')
			used += snprintf(line + used, size - used, " ");
	}
}

static void test_second_enumeration(void **state)
{
	u32 round, index[TS_KEYS], cases, conflicts;
	struct ts_sweep sweep;
	struct ts_case c;
	u64 random = 17;
	char line[512];

	(void)state;
	for (round = 0; round < 300; round++) {
		random_sweep(&random, line, sizeof(line));
		parse(line, &sweep);
		ts_case_init(&c);
		cases = conflicts = 0;
		count_all(&sweep, &c, index, 0, &cases, &conflicts);
		if (cases > MAX_CASES)
			continue;
		visit(&sweep);
		if (visits.n != cases || visits.conflicts != conflicts)
			fail_msg("%s: %u cases, %u conflicts; should be %u and %u", line, visits.n,
				 visits.conflicts, cases, conflicts);
		assert_none_twice();
	}
}

static void test_print_parse(void **state)
{
	struct ts_sweep sweep, again;
	char line[512], printed[1024], twice[1024];
	struct ts_text text;
	u64 random = 18;
	u32 i, key, j;

	(void)state;
	for (i = 0; i < 2000; i++) {
		random_sweep(&random, line, sizeof(line));
		parse(line, &sweep);
		sweep.repeats = 1 + random_below(&random, 10000);
		ts_text_init(&text, printed, sizeof(printed));
		ts_sweep_print(&text, &sweep);
		assert_false(text.truncated);
		parse(printed, &again);
		assert_int_equal(again.repeats, sweep.repeats);
		for (key = 0; key < TS_KEYS; key++) {
			assert_int_equal(again.axis[key].n, sweep.axis[key].n);
			for (j = 0; j < sweep.axis[key].n; j++)
				assert_int_equal(again.axis[key].value[j],
						 sweep.axis[key].value[j]);
		}
		ts_text_init(&text, twice, sizeof(twice));
		ts_sweep_print(&text, &again);
		assert_string_equal(twice, printed);
	}
}

static void test_garbage(void **state)
{
	static const char likely[] = "=== ,,,:\t0123456789kmgx-opatleavesguestrepeats";
	struct ts_error error;
	struct ts_sweep sweep;
	u64 random = 19;
	char line[512], *copy;
	u32 i, j, n;

	(void)state;
	for (i = 0; i < 100000; i++) {
		n = random_below(&random, 80);
		for (j = 0; j < n; j++)
			line[j] = random_below(&random, 4)
					  ? likely[random_below(&random, sizeof(likely) - 1)]
					  : (char)(1 + random_below(&random, 255));
		line[n] = 0;
		error.status = TS_OK;
		if (ts_sweep_parse(line, &sweep, &error))
			assert_true(error.status && error.status < TS_STATUSES);
	}
	for (i = 0; i < 10000; i++) {
		random_sweep(&random, line, sizeof(line));
		copy = exact_copy(line, strlen(line));
		for (n = random_below(&random, 3); *copy && n; n--)
			copy[random_below(&random, strlen(copy))] = 1 + random_below(&random, 255);
		error.status = TS_OK;
		if (ts_sweep_parse(copy, &sweep, &error))
			assert_true(error.status && error.status < TS_STATUSES);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_cases_are_finished),
		cmocka_unit_test(test_controls_beside),
		cmocka_unit_test(test_list_order),
		cmocka_unit_test(test_conflict_goes_on),
		cmocka_unit_test(test_derived_not_twice),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_second_enumeration),
		cmocka_unit_test(test_print_parse),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
