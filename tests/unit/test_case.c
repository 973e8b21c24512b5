// SPDX-License-Identifier: GPL-2.0
/*
 * Cases as text both ways, their completion, and what an op has to drop.
 *
 * Words, keys and limits are typed from the documentation of a case, not read from ts_keys[]. What
 * an op has to drop is typed from Intel SDM vol. 3, 4.10.4.1: INVLPG drops the page also where it
 * is global; INVPCID types 0, 1 and 3 and MOV to CR3 spare global pages; INVPCID type 2 and a
 * change of CR4.PGE drop everything; MOV to CR3 with bit 63 set has to drop nothing. 4.10.4.2: one
 * INVLPG is enough for a page of any size.
 */
#include "truth.h"

static const char *const key_names[TS_KEYS] = {
	"op", "at", "count", "guest", "global", "pcid", "leaves", "touches", "stride", "offset",
	"frames", "mix", "order", "access", "phase", "repeat", "iterations", "seed", "code",
};
static const char *const op_names[] = {
	"none", "invlpg", "invpcid-addr", "invpcid-ctx", "invpcid-nonglobal", "invpcid-all", "cr3",
	"cr3-keep", "pge", "mprotect", "mprotect-twin", "madvise", "madvise-twin", "munmap",
	"munmap-twin",
};
static const char *const at_words[] = { "none", "in-set", "same-2m", "next-2m", "mapped", "far" };
static const char *const page_words[] = { "4k", "2m", "1g" };
static const char *const frames_words[] = { "contiguous", "scattered" };
static const char *const order_words[] = { "sequential", "chase" };
static const char *const access_words[] = { "read", "write" };
static const char *const phase_words[] = { "refill", "retouch", "both", "op", "access" };

static void assert_refused(const char *line, enum ts_status expected, const char *word)
{
	struct ts_error error = { 0 };
	struct ts_case c;
	enum ts_status status = ts_case_parse(line, &c, &error);

	if (status != expected || error.status != expected || (word && strcmp(error.word, word)))
		fail_msg("'%s': %s, word '%s'; should be %s, word '%s'", line,
			 ts_status_name(status), error.word, ts_status_name(expected),
			 word ? word : "");
}

static void test_standard_values(void **state)
{
	struct ts_case c = case_of("");
	struct ts_case spaces = case_of(" \t ");

	(void)state;
	assert_int_equal(c.op, TS_OP_NONE);
	assert_int_equal(c.at, TS_AT_NONE); /* op none has no page */
	assert_int_equal(c.count, 1);
	assert_int_equal(c.global, 0);
	assert_int_equal(c.pcid, 0);
	assert_int_equal(c.touches, c.leaves);
	assert_int_equal(c.stride, leaf_bytes[c.guest]);
	assert_true(c.offset == TS_OFFSET_SPREAD); /* the default, by the documentation */
	assert_int_equal(c.order, TS_CHASE);
	assert_int_equal(c.access, TS_READ);
	assert_int_equal(c.phase, TS_REFILL);
	assert_int_equal(c.repeat, 1);
	assert_int_equal(c.mix, 0);
	assert_memory_equal(&c, &spaces, sizeof(c));
}

static void test_every_key(void **state)
{
	struct ts_case c =
		case_of("op=invlpg at=mapped\tcount=3  guest=2m global=1 pcid=1 leaves=16 "
			"touches=32 stride=1m offset=0x40 frames=scattered mix=4k:25 "
			"order=sequential access=write phase=both repeat=7 iterations=1k "
			"seed=18446744073709551615 ");

	(void)state;
	assert_int_equal(c.op, TS_OP_INVLPG);
	assert_int_equal(c.at, TS_AT_MAPPED);
	assert_int_equal(c.count, 3);
	assert_int_equal(c.guest, TS_2M);
	assert_int_equal(c.global, 1);
	assert_int_equal(c.pcid, 1);
	assert_int_equal(c.leaves, 16);
	assert_int_equal(c.touches, 32);
	assert_int_equal(c.stride, 1048576);
	assert_int_equal(c.offset, 64);
	assert_int_equal(c.frames, TS_SCATTERED);
	assert_int_equal(ts_mix_page(c.mix), TS_4K);
	assert_int_equal(ts_mix_leaves(c.mix), 25);
	assert_int_equal(c.order, TS_SEQUENTIAL);
	assert_int_equal(c.access, TS_WRITE);
	assert_int_equal(c.phase, TS_BOTH);
	assert_int_equal(c.repeat, 7);
	assert_int_equal(c.iterations, 1024);
	assert_true(c.seed == 0xffffffffffffffffULL);
}

static void assert_words(u32 key, const char *const *words, u32 n)
{
	struct ts_error error;
	char buffer[64];
	struct ts_text text;
	u64 value;
	u32 i;

	for (i = 0; i < n; i++) {
		assert_int_equal(ts_value_parse(key, words[i], strlen(words[i]), &value, &error),
				 TS_OK);
		assert_int_equal(value, i);
		ts_text_init(&text, buffer, sizeof(buffer));
		ts_value_print(&text, key, i);
		assert_string_equal(buffer, words[i]);
		/* Neither a part of the word nor more than it. */
		assert_int_equal(
			ts_value_parse(key, words[i], strlen(words[i]) - 1, &value, &error),
			TS_UNKNOWN_VALUE);
		snprintf(buffer, sizeof(buffer), "%sx", words[i]);
		assert_int_equal(ts_value_parse(key, buffer, strlen(buffer), &value, &error),
				 TS_UNKNOWN_VALUE);
		assert_string_equal(error.word, buffer);
	}
}

static void test_words(void **state)
{
	u32 key;

	(void)state;
	assert_words(TS_KEY_OP, op_names, TS_COUNT(op_names));
	assert_words(TS_KEY_AT, at_words, TS_COUNT(at_words));
	assert_words(TS_KEY_GUEST, page_words, TS_COUNT(page_words));
	assert_words(TS_KEY_FRAMES, frames_words, TS_COUNT(frames_words));
	assert_words(TS_KEY_ORDER, order_words, TS_COUNT(order_words));
	assert_words(TS_KEY_ACCESS, access_words, TS_COUNT(access_words));
	assert_words(TS_KEY_PHASE, phase_words, TS_COUNT(phase_words));
	assert_int_equal(TS_OPS, TS_COUNT(op_names));
	for (key = 0; key < TS_KEYS; key++) {
		assert_string_equal(ts_keys[key].name, key_names[key]);
		assert_non_null(ts_keys[key].help);
		assert_int_equal(ts_key_find(key_names[key], strlen(key_names[key])), key);
		assert_int_equal(ts_key_find(key_names[key], strlen(key_names[key]) - 1), TS_KEYS);
	}
	assert_int_equal(ts_key_find("", 0), TS_KEYS);
	assert_int_equal(ts_key_find("leavesx", 7), TS_KEYS);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		enum ts_status status;
		u64 number;
	} table[] = {
		{ "0", TS_OK, 0 },
		{ "7", TS_OK, 7 },
		{ "0009", TS_OK, 9 },
		{ "18446744073709551615", TS_OK, 0xffffffffffffffffULL },
		{ "18446744073709551616", TS_OVERFLOW, 0 },
		{ "18446744073709551620", TS_OVERFLOW, 0 },
		{ "99999999999999999999", TS_OVERFLOW, 0 },
		{ "0x0", TS_OK, 0 },
		{ "0x2a", TS_OK, 42 },
		{ "0x2A", TS_OK, 42 },
		{ "0xffffffffffffffff", TS_OK, 0xffffffffffffffffULL },
		{ "0x10000000000000000", TS_OVERFLOW, 0 },
		{ "0x1ffffffffffffffff", TS_OVERFLOW, 0 },
		{ "1k", TS_OK, 1024 },
		{ "3m", TS_OK, 3145728 },
		{ "2g", TS_OK, 2147483648ULL },
		{ "0x10k", TS_OK, 16384 },
		{ "0g", TS_OK, 0 },
		{ "18014398509481983k", TS_OK, 0xfffffffffffffc00ULL },
		{ "18014398509481984k", TS_OVERFLOW, 0 },
		{ "17592186044415m", TS_OK, 0xfffffffffff00000ULL },
		{ "17592186044416m", TS_OVERFLOW, 0 },
		{ "17179869183g", TS_OK, 0xffffffffc0000000ULL },
		{ "17179869184g", TS_OVERFLOW, 0 },
		{ "99999999999g", TS_OVERFLOW, 0 },
		{ "", TS_BAD_NUMBER, 0 },
		{ "k", TS_BAD_NUMBER, 0 },
		{ "0x", TS_BAD_NUMBER, 0 },
		{ "0xk", TS_BAD_NUMBER, 0 },
		{ "x10", TS_BAD_NUMBER, 0 },
		{ "0xg", TS_BAD_NUMBER, 0 },
		{ "1kk", TS_BAD_NUMBER, 0 },
		{ "1k2", TS_BAD_NUMBER, 0 },
		{ "-1", TS_BAD_NUMBER, 0 },
		{ "+1", TS_BAD_NUMBER, 0 },
		{ "1.5", TS_BAD_NUMBER, 0 },
		{ " 1", TS_BAD_NUMBER, 0 },
		{ "12a", TS_BAD_NUMBER, 0 },
		{ "1e3", TS_BAD_NUMBER, 0 },
		{ "0x12h", TS_BAD_NUMBER, 0 },
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		char *text = exact_copy(table[i].text, strlen(table[i].text));
		enum ts_status status;
		u64 number = 0;

		status = ts_number(text, strlen(text), &number);
		if (status != table[i].status || (!status && number != table[i].number))
			fail_msg("'%s': %s %llu", text, ts_status_name(status), number);
		free(text);
	}
}

/* Only the bytes inside the length count, whatever stands behind them. */
static void test_numbers_end(void **state)
{
	u64 number;

	(void)state;
	assert_int_equal(ts_number("0x10", 1, &number), TS_OK);
	assert_int_equal(number, 0);
	assert_int_equal(ts_number("0x10", 2, &number), TS_BAD_NUMBER);
	assert_int_equal(ts_number("0x10", 3, &number), TS_OK);
	assert_int_equal(number, 1);
	assert_int_equal(ts_number("12k", 2, &number), TS_OK);
	assert_int_equal(number, 12);
	assert_int_equal(ts_number("7", 0, &number), TS_BAD_NUMBER);
}

/* Decimal and hexadecimal against printf() of the C library, both ways. */
static void test_numbers_random(void **state)
{
	u64 random = 11, number, back;
	char expected[40], buffer[40];
	struct ts_text text;
	u32 i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		number = random_u64(&random) >> random_below(&random, 64);
		snprintf(expected, sizeof(expected), i & 1 ? "0x%llx" : "%llu", number);
		ts_text_init(&text, buffer, sizeof(buffer));
		if (i & 1)
			ts_put_hex(&text, number);
		else
			ts_put_number(&text, number);
		assert_string_equal(buffer, expected);
		assert_int_equal(ts_number(expected, strlen(expected), &back), TS_OK);
		assert_true(back == number);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *line;
		enum ts_status status;
		const char *word;
	} table[] = {
		{ "host=4k", TS_UNKNOWN_KEY, "host" }, /* the guest never hears of the host page */
		{ "op=none colour=red", TS_UNKNOWN_KEY, "colour" },
		{ "OP=none", TS_UNKNOWN_KEY, "OP" },
		{ "leaf=1", TS_UNKNOWN_KEY, "leaf" },
		{ "repeats=3", TS_UNKNOWN_KEY, "repeats" },
		{ "leaves=1 op=cr3 leaves=1", TS_DUPLICATE_KEY, "leaves" },
		{ "op=none op=cr3", TS_DUPLICATE_KEY, "op" },
		{ "seed=1 seed=1", TS_DUPLICATE_KEY, "seed" },
		{ "leaves", TS_MISSING_VALUE, "leaves" },
		{ "leaves=", TS_MISSING_VALUE, "leaves=" },
		{ "leaves= 16", TS_MISSING_VALUE, "leaves=" },
		{ "=16", TS_MISSING_VALUE, "=16" },
		{ "=", TS_MISSING_VALUE, "=" },
		{ "op=none 16", TS_MISSING_VALUE, "16" },
		{ "op=flush", TS_UNKNOWN_VALUE, "flush" },
		{ "op=invlpg,cr3", TS_UNKNOWN_VALUE, "invlpg,cr3" },
		{ "at=there", TS_UNKNOWN_VALUE, "there" },
		{ "guest=4K", TS_UNKNOWN_VALUE, "4K" },
		{ "guest=none", TS_UNKNOWN_VALUE, "none" },
		{ "order==chase", TS_UNKNOWN_VALUE, "=chase" },
		{ "leaves=many", TS_BAD_NUMBER, "many" },
		{ "leaves=16x", TS_BAD_NUMBER, "16x" },
		{ "leaves=-1", TS_BAD_NUMBER, "-1" },
		{ "offset=middle", TS_BAD_NUMBER, "middle" },
		{ "seed=18446744073709551616", TS_OVERFLOW, "18446744073709551616" },
		{ "seed=0x1ffffffffffffffff", TS_OVERFLOW, "0x1ffffffffffffffff" },
		{ "stride=99999999999g", TS_OVERFLOW, "99999999999g" },
		{ "leaves=18446744073709551617", TS_OVERFLOW, "18446744073709551617" },
		{ "leaves=0", TS_OUT_OF_RANGE, "0" },
		{ "leaves=16385", TS_OUT_OF_RANGE, "16385" },
		{ "touches=16385", TS_OUT_OF_RANGE, "16385" },
		{ "op=invlpg count=0", TS_OUT_OF_RANGE, "0" },
		{ "op=invlpg count=513", TS_OUT_OF_RANGE, "513" },
		{ "global=2", TS_OUT_OF_RANGE, "2" },
		{ "pcid=2", TS_OUT_OF_RANGE, "2" },
		{ "offset=4096", TS_OUT_OF_RANGE, "4096" },
		{ "offset=18446744073709551615", TS_OUT_OF_RANGE, "18446744073709551615" },
		{ "stride=2g", TS_OUT_OF_RANGE, "2g" },
		{ "iterations=0", TS_OUT_OF_RANGE, "0" },
		{ "repeat=0", TS_OUT_OF_RANGE, "0" },
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++)
		assert_refused(table[i].line, table[i].status, table[i].word);
}

static void test_bad_mix(void **state)
{
	static const char *const lines[] = {
		"mix=2m", "mix=2m:", "mix=:8", "mix=2m:0", "mix=3m:8", "mix=2m8", "mix=2m:x",
		"mix=2m:8:8", "mix=2m:16385", "mix=8", "mix=0", "mix=2m:18446744073709551617",
		"mix=none:8", "mix=2m:-1", "mix=2m,8", "mix=2m:4294967304",
	};
	struct ts_error error;
	struct ts_case c;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(lines); i++) {
		enum ts_status status = ts_case_parse(lines[i], &c, &error);

		if (status != TS_UNKNOWN_VALUE && status != TS_BAD_NUMBER &&
		    status != TS_OVERFLOW && status != TS_OUT_OF_RANGE)
			fail_msg("%s: %s", lines[i], ts_status_name(status));
		assert_string_equal(error.word, lines[i] + 4);
	}
	assert_true(case_of("mix=1g:0x10").mix == (2ULL << 32 | 16));
	assert_true(case_of("mix=none").mix == 0);
}

static void test_conflicts(void **state)
{
	static const struct {
		const char *line, *word;
	} table[] = {
		{ "op=invlpg at=none", "at" },
		{ "op=invpcid-addr at=none", "at" },
		{ "op=cr3-keep", "pcid" },
		{ "op=cr3-keep pcid=0", "pcid" },
		{ "phase=refill iterations=65537", "iterations" },
		{ "phase=retouch iterations=4g", "iterations" },
		{ "leaves=16 touches=15", "touches" },
		{ "guest=4k leaves=4 stride=100", "stride" },
		/* no multiple of the leaf */
		{ "guest=4k leaves=4 stride=4160 offset=0", "stride" },
		{ "guest=2m leaves=4 touches=8 stride=4m", "stride" }, /* two touches a leaf */
		{ "guest=2m leaves=4 touches=4 stride=4k", "stride" }, /* reaches leaf 0 only */
		{ "guest=2m leaves=1 touches=513 stride=4k", "stride" }, /* reaches a second one */
		{ "guest=2m leaves=1 touches=50 stride=64", "offset" }, /* spread needs 4K pieces */
		{ "offset=1", "offset" },
		{ "offset=100", "offset" },
		{ "guest=4k leaves=1 touches=2 stride=2k offset=64", "offset" },
		{ "leaves=16384 mix=4k:1", "mix" },
		{ "leaves=16 mix=4k:16369", "mix" },
		{ "guest=1g leaves=4 frames=scattered", "frames" },
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++)
		assert_refused(table[i].line, TS_CONFLICT, table[i].word);
	case_of("leaves=16 mix=4k:16368");
	case_of("phase=refill iterations=64k");
	case_of("phase=both iterations=4g");
	case_of("phase=access op=invlpg at=none"); /* no op, no page */
}

static void test_derived(void **state)
{
	static const struct {
		const char *line;
		u64 touches, stride;
	} table[] = {
		{ "guest=4k leaves=50", 50, 4096 },
		{ "guest=2m leaves=16", 16, 2097152 },
		{ "guest=1g leaves=4", 4, 1073741824 },
		{ "guest=2m leaves=16 touches=16", 16, 2097152 },
		{ "guest=2m leaves=1 touches=512", 512, 4096 },
		/* 2M / 50 = 41943, down to 4K pages */
		{ "guest=2m leaves=1 touches=50", 50, 40960 },
		/* the cell of 2016 */
		{ "guest=2m leaves=1 touches=50 stride=4k offset=0", 50, 4096 },
		{ "guest=2m leaves=2 touches=3", 3, 1396736 }, /* 4M / 3 = 1398101 */
		{ "guest=4k leaves=8 stride=8k", 8, 8192 },
		{ "guest=2m leaves=8 stride=4m", 8, 4194304 },
		{ "guest=4k leaves=2 touches=128 stride=64 offset=0", 128, 64 },
		{ "guest=1g leaves=2 touches=1024", 1024, 2097152 },
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		struct ts_case c = case_of(table[i].line);

		if (c.touches != table[i].touches || c.stride != table[i].stride)
			fail_msg("%s: touches %llu stride %llu", table[i].line, c.touches,
				 c.stride);
	}
}

/*
 * With a fixed offset touches may lie closer than 4K: then "as far apart as touches fit" is below
 * 4K too.
 */
static void test_derived_below_4k(void **state)
{
	(void)state;
	assert_int_equal(case_of("guest=4k leaves=1 touches=64 offset=0").stride, 64);
	assert_int_equal(case_of("guest=4k leaves=2 touches=16 offset=0").stride, 512);
}

static void test_neutral_values(void **state)
{
	struct ts_case c = case_of("op=cr3 at=in-set count=9");

	(void)state;
	assert_int_equal(c.at, TS_AT_NONE);
	assert_int_equal(c.count, 1);
	c = case_of("op=pge phase=access at=far count=9");
	assert_int_equal(c.op, TS_OP_NONE);
	assert_int_equal(c.at, TS_AT_NONE);
	assert_int_equal(c.count, 1);
	c = case_of("op=invlpg count=9");
	assert_int_equal(c.at, TS_AT_FAR);
	assert_int_equal(c.count, 9);
}

static void test_applies(void **state)
{
	struct ts_case c = case_of("op=invlpg phase=refill order=chase");
	u32 key;

	(void)state;
	for (key = 0; key < TS_KEYS; key++)
		assert_true(ts_key_applies(&c, key));
	c.order = TS_SEQUENTIAL;
	assert_false(ts_key_applies(&c, TS_KEY_SEED));
	c.op = TS_OP_CR3;
	assert_false(ts_key_applies(&c, TS_KEY_AT));
	assert_false(ts_key_applies(&c, TS_KEY_COUNT));
	assert_true(ts_key_applies(&c, TS_KEY_OP));
	c = case_of("op=invlpg phase=op");
	assert_true(ts_key_applies(&c, TS_KEY_AT));
	assert_false(ts_key_applies(&c, TS_KEY_ORDER));
	assert_false(ts_key_applies(&c, TS_KEY_ACCESS));
	assert_false(ts_key_applies(&c, TS_KEY_SEED));
	c.phase = TS_ACCESS;
	assert_false(ts_key_applies(&c, TS_KEY_OP));
	assert_false(ts_key_applies(&c, TS_KEY_AT));
	assert_true(ts_key_applies(&c, TS_KEY_ORDER));
}

/* Features that the instructions need: CPUID flags by their entries in SDM vol. 2. */
static void test_needs(void **state)
{
	(void)state;
	assert_int_equal(ts_case_needs(&(struct ts_case){ .op = TS_OP_NONE }), 0);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .op = TS_OP_INVLPG }), TS_RING0);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .op = TS_OP_CR3, .global = 1 }),
			 TS_RING0 | TS_PGE);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .op = TS_OP_PGE }), TS_RING0 | TS_PGE);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .op = TS_OP_INVPCID_ALL, .pcid = 1 }),
			 TS_RING0 | TS_INVPCID | TS_PCID);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .op = TS_OP_CR3_KEEP, .pcid = 1 }),
			 TS_RING0 | TS_PCID);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .guest = TS_1G }), TS_GB_PAGES);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .mix = 2ULL << 32 | 4 }), TS_GB_PAGES);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .mix = 1ULL << 32 | 4 }), 0);
	assert_int_equal(ts_case_needs(&(struct ts_case){ .op = TS_OP_MADVISE }), TS_SYSCALLS);
}

/*
 * 16 leaves and a mixed set of 8, one page flushed. For each op and page: must of the working set
 * for guest 4k, 2m, 1g, first with global=0, then with global=1; the mixed set is dropped by full
 * flushes only.
 */
static const struct must {
	u64 op, at;
	u64 set[2][3], mix[2];
} musts[] = {
	{ TS_OP_NONE, TS_AT_NONE, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVLPG, TS_AT_IN_SET, { { 1, 1, 1 }, { 1, 1, 1 } }, { 0, 0 } },
	{ TS_OP_INVLPG, TS_AT_SAME_2M, { { 0, 1, 1 }, { 0, 1, 1 } }, { 0, 0 } },
	{ TS_OP_INVLPG, TS_AT_NEXT_2M, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVLPG, TS_AT_MAPPED, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVLPG, TS_AT_FAR, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVPCID_ADDR, TS_AT_IN_SET, { { 1, 1, 1 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVPCID_ADDR, TS_AT_SAME_2M, { { 0, 1, 1 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVPCID_ADDR, TS_AT_NEXT_2M, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVPCID_ADDR, TS_AT_MAPPED, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVPCID_ADDR, TS_AT_FAR, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_INVPCID_CTX, TS_AT_NONE, { { 16, 16, 16 }, { 0, 0, 0 } }, { 8, 0 } },
	{ TS_OP_INVPCID_NONGLOBAL, TS_AT_NONE, { { 16, 16, 16 }, { 0, 0, 0 } }, { 8, 0 } },
	{ TS_OP_INVPCID_ALL, TS_AT_NONE, { { 16, 16, 16 }, { 16, 16, 16 } }, { 8, 8 } },
	{ TS_OP_CR3, TS_AT_NONE, { { 16, 16, 16 }, { 0, 0, 0 } }, { 8, 0 } },
	{ TS_OP_CR3_KEEP, TS_AT_NONE, { { 0, 0, 0 }, { 0, 0, 0 } }, { 0, 0 } },
	{ TS_OP_PGE, TS_AT_NONE, { { 16, 16, 16 }, { 16, 16, 16 } }, { 8, 8 } },
};

static void test_must(void **state)
{
	u64 global, guest;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(musts); i++) {
		for (global = 0; global < 2; global++) {
			for (guest = 0; guest < 3; guest++) {
				struct ts_case c = { .op = musts[i].op,
						     .at = musts[i].at,
						     .count = 1,
						     .guest = guest,
						     .global = global,
						     .pcid = 1,
						     .leaves = 16,
						     .mix = 1ULL << 32 | 8 };

				if (ts_must(&c, 0) != musts[i].set[global][guest] ||
				    ts_must(&c, 1) != musts[i].mix[global])
					fail_msg("%s at %s, guest %s, global %llu: %llu and %llu",
						 op_names[c.op], at_words[c.at], page_words[guest],
						 global, ts_must(&c, 0), ts_must(&c, 1));
			}
		}
	}
}

static void test_must_counts(void **state)
{
	struct ts_case c = case_of("op=invlpg at=in-set count=5 leaves=16");

	(void)state;
	assert_int_equal(ts_must(&c, 0), 5);
	assert_int_equal(ts_must(&c, 1), 0);
	c = case_of("op=invlpg at=same-2m count=200 guest=2m leaves=16");
	assert_int_equal(ts_must(&c, 0), 1); /* all 200 pages lie in one large page */
	c = case_of("op=invlpg at=far count=200");
	assert_int_equal(ts_must(&c, 0), 0);
	c = case_of("op=cr3 leaves=50 guest=4k");
	assert_int_equal(ts_must(&c, 0), 50);
	assert_int_equal(ts_must(&c, 1), 0);
}

/* --- Round trips ------------------------------------------------------------------------------ */

/* A number the way a person may write it. */
static void write_number(u64 *random, char *to, size_t size, u64 number)
{
	static const char suffix[] = "kmg";
	u32 i;

	for (i = 3; i-- > 0;) {
		if (number && number % (1ULL << 10 * (i + 1)) == 0 && random_below(random, 2)) {
			snprintf(to, size, "%llu%c", number >> 10 * (i + 1), suffix[i]);
			return;
		}
	}
	snprintf(to, size, random_below(random, 3) ? "%llu" : "0x%llx", number);
}

static void write_value(u64 *random, char *to, size_t size, u32 key, u64 value)
{
	static const char *const *const words[TS_KEYS] = {
		[TS_KEY_OP] = op_names, [TS_KEY_AT] = at_words, [TS_KEY_GUEST] = page_words,
		[TS_KEY_FRAMES] = frames_words, [TS_KEY_ORDER] = order_words,
		[TS_KEY_ACCESS] = access_words, [TS_KEY_PHASE] = phase_words,
	};

	if (words[key])
		snprintf(to, size, "%s", words[key][value]);
	else if (key == TS_KEY_OFFSET && value == ~0ULL)
		snprintf(to, size, "spread");
	else if (key == TS_KEY_MIX && !value)
		snprintf(to, size, "none");
	else if (key == TS_KEY_MIX)
		snprintf(to, size, "%s:%llu", page_words[value >> 32], value & 0xffffffff);
	else
		write_number(random, to, size, value);
}

/* All keys of c in random order, with blanks and spellings varied. */
static void write_case(u64 *random, char *to, size_t size, const struct ts_case *c)
{
	u32 order[TS_KEYS], i, j, swap;
	char value[40];
	size_t used = 0;

	for (i = 0; i < TS_KEYS; i++)
		order[i] = i;
	for (i = TS_KEYS; i-- > 1;) {
		j = random_below(random, i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	for (i = 0; i < TS_KEYS; i++) {
		write_value(random, value, sizeof(value), order[i], ((const u64 *)c)[order[i]]);
		used += snprintf(to + used, size - used, "%s%s=%s%s",
				 random_below(random, 5) ? "" : "\t ", key_names[order[i]], value,
				 i + 1 < TS_KEYS || random_below(random, 2) ? " " : "");
	}
}

/* The printed text: every key once, in order, one blank between. */
static void check_printed(const char *printed)
{
	const char *at = printed;
	u32 key;

	for (key = 0; key < TS_KEYS; key++) {
		size_t length = strlen(key_names[key]);

		assert_memory_equal(at, key_names[key], length);
		assert_int_equal(at[length], '=');
		at += length + 1;
		length = strcspn(at, " ");
		assert_true(length > 0);
		at += length;
		assert_int_equal(*at, key + 1 < TS_KEYS ? ' ' : 0);
		at++;
	}
}

static void test_round_trip(void **state)
{
	struct ts_case raw, parsed, again;
	char line[1024], printed[1024];
	struct ts_error error;
	struct ts_text text;
	u64 random = 42;
	u32 i, key;

	(void)state;
	for (i = 0; i < 5000; i++) {
		random_case(&random, &raw);
		write_case(&random, line, sizeof(line), &raw);
		parsed = case_of(line);
		for (key = 0; key < TS_KEYS; key++) {
			u64 given = ((u64 *)&raw)[key];

			if ((key == TS_KEY_TOUCHES || key == TS_KEY_STRIDE) && !given)
				continue; /* derived */
			if (key == TS_KEY_OP || key == TS_KEY_AT || key == TS_KEY_COUNT)
				continue; /* below */
			assert_true(((u64 *)&parsed)[key] == given);
		}
		assert_int_equal(parsed.op, raw.phase == TS_ACCESS ? TS_OP_NONE : raw.op);
		if (parsed.op == TS_OP_INVLPG || parsed.op == TS_OP_INVPCID_ADDR) {
			assert_int_equal(parsed.at, raw.at);
			assert_int_equal(parsed.count, raw.count);
		}
		ts_text_init(&text, printed, sizeof(printed));
		ts_case_print(&text, &parsed);
		assert_false(text.truncated);
		check_printed(printed);
		assert_int_equal(ts_case_parse(printed, &again, &error), TS_OK);
		assert_memory_equal(&again, &parsed, sizeof(again));
		/* finished stays finished */
		assert_int_equal(ts_case_finish(&again, &error), TS_OK);
		assert_memory_equal(&again, &parsed, sizeof(again));
	}
}

/* A text that does not fit is cut, terminated, and says so. */
static void test_truncated(void **state)
{
	struct ts_case c = case_of("op=invlpg at=mapped");
	char whole[1024], *part;
	struct ts_text text;
	u32 length, size;

	(void)state;
	ts_text_init(&text, whole, sizeof(whole));
	ts_case_print(&text, &c);
	length = strlen(whole);
	for (size = 1; size <= length + 2; size++) {
		part = malloc(size);
		assert_non_null(part);
		ts_text_init(&text, part, size);
		ts_case_print(&text, &c);
		assert_int_equal(text.truncated, size < length + 1);
		assert_int_equal(strlen(part), size < length + 1 ? size - 1 : length);
		assert_memory_equal(part, whole, strlen(part));
		free(part);
	}
}

/* --- Garbage ---------------------------------------------------------------------------------- */

static void check_parse(const char *line)
{
	struct ts_error error = { 0 };
	struct ts_case c, again;
	char printed[1024];
	struct ts_text text;
	enum ts_status status = ts_case_parse(line, &c, &error);

	assert_true(status < TS_STATUSES);
	if (status) {
		assert_int_equal(error.status, status);
		assert_non_null(memchr(error.word, 0, sizeof(error.word)));
		return;
	}
	ts_text_init(&text, printed, sizeof(printed));
	ts_case_print(&text, &c);
	assert_int_equal(ts_case_parse(printed, &again, &error), TS_OK);
	assert_memory_equal(&again, &c, sizeof(c));
}

static void test_garbage_bytes(void **state)
{
	static const char likely[] = "=== :,\t0123456789kmgx-opatleavesguest";
	u64 random = 99;
	char line[64];
	u32 i, j, n;

	(void)state;
	for (i = 0; i < 200000; i++) {
		n = random_below(&random, sizeof(line));
		for (j = 0; j < n; j++)
			line[j] = random_below(&random, 2)
					  ? likely[random_below(&random, sizeof(likely) - 1)]
					  : (char)(1 + random_below(&random, 255));
		line[n] = 0;
		check_parse(line);
	}
}

/* Lines that were right until a few bytes changed, in blocks of exactly their size. */
static void test_garbage_mutations(void **state)
{
	u64 random = 123;
	char line[1024], *copy;
	struct ts_case c;
	u32 i, changes;
	size_t length;

	(void)state;
	for (i = 0; i < 20000; i++) {
		random_case(&random, &c);
		write_case(&random, line, sizeof(line), &c);
		length = random_below(&random, 4) ? strlen(line)
						  : random_below(&random, strlen(line));
		copy = exact_copy(line, length);
		for (changes = random_below(&random, 4); length && changes; changes--)
			copy[random_below(&random, length)] = 1 + random_below(&random, 255);
		check_parse(copy);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standard_values),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_numbers_end),
		cmocka_unit_test(test_numbers_random),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_mix),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_derived),
		cmocka_unit_test(test_derived_below_4k),
		cmocka_unit_test(test_neutral_values),
		cmocka_unit_test(test_applies),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_must),
		cmocka_unit_test(test_must_counts),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_garbage_bytes),
		cmocka_unit_test(test_garbage_mutations),
	};

	return cmocka_run_group_tests_name("case", tests, NULL, NULL);
}
