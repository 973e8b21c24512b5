// SPDX-License-Identifier: GPL-2.0
/* Sweeps: lists of values, and the walk over their cross product. */
#include "sweep.h"

void ts_sweep_init(struct ts_sweep *sweep)
{
	u32 key;

	for (key = 0; key < TS_KEYS; key++)
		sweep->axis[key].n = 0;
	sweep->repeats = 1;
}

static enum ts_status set_repeats(struct ts_sweep *sweep, const char *text, u32 length,
				  struct ts_error *error)
{
	enum ts_status status = ts_number(text, length, &sweep->repeats);

	if (!status && (!sweep->repeats || sweep->repeats > TS_MAX_REPEATS))
		status = TS_OUT_OF_RANGE;
	return status ? ts_fail_n(error, status, text, length, "repeats is 1 to 10000") : TS_OK;
}

static u8 has_value(const struct ts_axis *axis, u64 value)
{
	u32 i;

	for (i = 0; i < axis->n; i++)
		if (axis->value[i] == value)
			return 1;
	return 0;
}

enum ts_status ts_sweep_set(struct ts_sweep *sweep, const char *key, u32 key_length,
			    const char *list, u32 length, struct ts_error *error)
{
	u32 k = ts_key_find(key, key_length), start, end;
	struct ts_axis axis = { 0 };
	enum ts_status status;
	u64 value;

	if (ts_equal_n(key, key_length, "repeats"))
		return set_repeats(sweep, list, length, error);
	if (k == TS_KEYS || k == TS_KEY_REPEAT)
		return ts_fail_n(error, TS_UNKNOWN_KEY, key, key_length,
				 "tlbscope list axes names them");
	for (start = 0; start <= length; start = end + 1) {
		for (end = start; end < length && list[end] != ','; end++)
			;
		if (end == start)
			return ts_fail_n(error, TS_MISSING_VALUE, key, key_length,
					 "write a value, or values with commas between");
		status = ts_value_parse(k, list + start, end - start, &value, error);
		if (status)
			return status;
		if (has_value(&axis, value))
			return ts_fail_n(error, TS_DUPLICATE_KEY, list + start, end - start,
					 "give a value once");
		if (axis.n == TS_MAX_VALUES)
			return ts_fail_n(error, TS_TOO_LONG, key, key_length,
					 "at most 32 values for one axis");
		axis.value[axis.n++] = value;
	}
	if (axis.n > 1 && (((k == TS_KEY_TOUCHES || k == TS_KEY_STRIDE) && has_value(&axis, 0)) ||
			   (k == TS_KEY_LEAVES && has_value(&axis, TS_LEAVES_FIT))))
		return ts_fail_n(error, TS_CONFLICT, key, key_length,
				 "0 and fit mean derived from the other axes: list it alone");
	sweep->axis[k] = axis;
	return TS_OK;
}

enum ts_status ts_sweep_parse(const char *line, struct ts_sweep *sweep, struct ts_error *error)
{
	enum ts_status status;
	struct ts_pair pair;
	u32 seen = 0, key;

	ts_sweep_init(sweep);
	while ((status = ts_pair(&line, &pair, error)) == TS_OK) {
		key = ts_key_find(pair.key, pair.key_length); /* TS_KEYS stands for repeats here */
		if (seen & 1u << key)
			return ts_fail_n(error, TS_DUPLICATE_KEY, pair.key, pair.key_length,
					 "give a key once");
		status = ts_sweep_set(sweep, pair.key, pair.key_length, pair.value,
				      pair.value_length, error);
		if (status)
			return status;
		seen |= 1u << key;
	}
	return status == TS_EMPTY ? TS_OK : status;
}

void ts_sweep_print(struct ts_text *text, const struct ts_sweep *sweep)
{
	u32 key, i;

	for (key = 0; key < TS_KEYS; key++) {
		const struct ts_axis *axis = &sweep->axis[key];

		if (!axis->n)
			continue;
		ts_put(text, ts_keys[key].name);
		for (i = 0; i < axis->n; i++) {
			ts_put(text, i ? "," : "=");
			ts_value_print(text, key, axis->value[i]);
		}
		ts_put(text, " ");
	}
	ts_put(text, "repeats=");
	ts_put_number(text, sweep->repeats);
}

/*
 * The keys from the fastest digit to the slowest: op, at and count vary within a cell, so that its
 * controls run right beside what they control.
 */
static u32 digit_key(u32 digit)
{
	static const u8 first[] = { TS_KEY_OP, TS_KEY_AT, TS_KEY_COUNT };

	return digit < TS_COUNT(first) ? first[digit] : TS_KEYS - 1 - (digit - TS_COUNT(first));
}

/*
 * Fills c with the combination that number names; 1 if there is none (number is past the end), 2 if it
 * repeats another one because a key that does not apply is not at its first value.
 */
static int combination(const struct ts_sweep *sweep, u64 number, struct ts_case *c)
{
	u8 first[TS_KEYS]; /* is the key at its first value? */
	u32 digit, key;

	ts_case_init(c);
	for (digit = 0; digit < TS_KEYS; digit++) {
		const struct ts_axis *axis = &sweep->axis[digit_key(digit)];

		key = digit_key(digit);
		first[key] = 1;
		if (!axis->n)
			continue;
		first[key] = number % axis->n == 0;
		*ts_field(c, key) = axis->value[number % axis->n];
		number /= axis->n;
	}
	if (number)
		return 1;
	for (key = 0; key < TS_KEYS; key++)
		if (!first[key] && !ts_key_applies(c, key))
			return 2;
	return 0;
}

int ts_sweep_next(const struct ts_sweep *sweep, struct ts_cursor *cursor, struct ts_case *c,
		  struct ts_error *error)
{
	int repeated;

	do {
		repeated = combination(sweep, cursor->next++, c);
		if (repeated == 1) {
			cursor->next--;
			return 0;
		}
	} while (repeated);
	return ts_case_finish(c, error) ? -1 : 1;
}
