// SPDX-License-Identifier: GPL-2.0
/*
 * The thread that serves one client: requests of the line protocol in, answers out.
 *
 * It is bound to one CPU and has no mm (see root.c). When the client goes away it may be in the
 * middle of a case that would take hours; then it ends itself at the next pause, at whatever depth
 * of calls it is. That is sound because nothing that it owns lies on its stack: whoever stopped it
 * frees the session.
 */
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "host.h"

#ifdef TS_HAVE_KTHREAD_EXIT
#define end_thread() kthread_complete_and_exit(NULL, 0)
#else
#define end_thread() complete_and_exit(NULL, 0) /* its name before kthread_exit() came */
#endif

void ts_session_breathe(void)
{
	cond_resched();
	if (kthread_should_stop())
		end_thread();
}

/* ---- answers ---- */

static struct ts_text new_answer(struct ts_session *s)
{
	struct ts_text text;

	ts_text_init(&text, s->answer, sizeof(s->answer) - 1);
	return text;
}

/* Queues the answer as a line, when the client has made room for it. */
static void say(struct ts_session *s, struct ts_text *text)
{
	unsigned int n = text->at - s->answer;

	s->answer[n++] = '\n';
	wait_event_idle(s->wait, kthread_should_stop() || kfifo_avail(&s->out) >= n);
	ts_session_breathe();
	kfifo_in(&s->out, s->answer, n);
	wake_up_all(&s->wait);
}

static void say_hello(struct ts_session *s)
{
	struct ts_text text = new_answer(s);

	ts_machine_hello(&s->x, &text);
	say(s, &text);
}

static void say_count(struct ts_session *s, const char *word, u64 count)
{
	struct ts_text text = new_answer(s);

	ts_put(&text, word);
	ts_put_key_number(&text, "rows", count);
	say(s, &text);
}

/* An error, and behind it the case that it is about, if it is about one. */
static void refuse(struct ts_session *s, const struct ts_error *error, const struct ts_case *c)
{
	struct ts_text text = new_answer(s);

	ts_error_print(&text, error);
	if (c) {
		ts_put(&text, " case ");
		ts_case_print(&text, c);
	}
	say(s, &text);
}

/* ---- requests ---- */

static void run_case(struct ts_session *s, const struct ts_case *c)
{
	struct ts_error error;
	struct ts_text text;

	if (ts_experiment_run(&s->x, c, &error)) {
		refuse(s, &error, c);
		return;
	}
	text = new_answer(s);
	ts_row_print(&text, &s->x.e, &s->x.result);
	s->rows++;
	say(s, &text);
}

static enum ts_status answer_case(struct ts_session *s, const char *rest, struct ts_error *error)
{
	struct ts_case c;
	enum ts_status status = ts_case_parse(rest, &c, error);

	if (!status)
		run_case(s, &c);
	return status;
}

/* All cells of a sweep once, in its order. */
static void sweep_once(struct ts_session *s, u64 repeat)
{
	struct ts_cursor cursor = { 0 };
	struct ts_error error;
	struct ts_case c;
	int found;

	while ((found = ts_sweep_next(&s->sweep, &cursor, &c, &error)) != 0) {
		ts_session_breathe();
		c.repeat = repeat;
		if (found > 0)
			run_case(s, &c);
		else
			refuse(s, &error, &c);
	}
}

static enum ts_status answer_sweep(struct ts_session *s, const char *rest, struct ts_error *error)
{
	enum ts_status status = ts_sweep_parse(rest, &s->sweep, error);
	u64 before = s->rows, repeat;

	if (status)
		return status;
	for (repeat = 1; repeat <= s->sweep.repeats; repeat++)
		sweep_once(s, repeat);
	say_count(s, "done", s->rows - before);
	return TS_OK;
}

/* The old events end in any case: behind an error, no row may carry counts of what was asked before. */
static enum ts_status answer_events(struct ts_session *s, const char *rest, struct ts_error *error)
{
	struct ts_events events;
	struct ts_text text;
	enum ts_status status;

	ts_perf_release(&s->x.perf);
	status = ts_events_parse(rest, &events, error);
	if (!status)
		status = ts_perf_set(&s->x.perf, &events, error);
	if (status)
		return status;
	text = new_answer(s);
	ts_pmu_print_events(&text, &s->x.perf.pmu);
	say(s, &text);
	return TS_OK;
}

static enum ts_status answer_command(struct ts_session *s, enum ts_command command,
				     const char *rest, struct ts_error *error)
{
	switch (command) {
	case TS_CMD_CASE:
		return answer_case(s, rest, error);
	case TS_CMD_SWEEP:
		return answer_sweep(s, rest, error);
	case TS_CMD_EVENTS:
		return answer_events(s, rest, error);
	case TS_CMD_END:
		say_count(s, "end", s->rows);
		s->rows = 0;
		return TS_OK;
	default:
		say_hello(s);
		return TS_OK;
	}
}

/* Answers the request in s->line; blank lines are no requests. */
static void answer(struct ts_session *s)
{
	enum ts_status status = s->line.status;
	const char *rest = s->line.buffer;
	enum ts_command command;
	struct ts_error error;

	if (status)
		ts_fail(&error, status, "line", "a line is printable ASCII, at most 1023 bytes");
	else
		status = ts_command(rest, &command, &rest, &error);
	if (status == TS_EMPTY)
		return;
	if (!status)
		status = answer_command(s, command, rest, &error);
	if (status)
		refuse(s, &error, NULL);
}

/* ---- the thread ---- */

/* Some bytes of requests; while there are any, the session counts as working. */
static unsigned int take(struct ts_session *s, char *bytes, unsigned int size)
{
	unsigned int n;

	spin_lock(&s->lock);
	n = kfifo_out(&s->in, bytes, size);
	s->working = n > 0;
	spin_unlock(&s->lock);
	wake_up_all(&s->wait);
	return n;
}

int ts_session_thread(void *data)
{
	struct ts_session *s = data;
	unsigned int n, i;
	char bytes[64];

	s->x.cpu = raw_smp_processor_id();
	ts_machine_time(&s->x.machine);
	ts_perf_detect(&s->x.perf, s->x.cpu);
	ts_line_init(&s->line);
	if (s->greet)
		say_hello(s);
	for (;;) {
		n = take(s, bytes, sizeof(bytes));
		for (i = 0; i < n; i++)
			if (ts_line_feed(&s->line, bytes[i]))
				answer(s);
		if (n)
			continue;
		wait_event_idle(s->wait, kthread_should_stop() || !kfifo_is_empty(&s->in));
		if (kthread_should_stop())
			return 0;
	}
}
