// SPDX-License-Identifier: GPL-2.0
/*
 * Target tcg: the guest image on QEMU's software CPU. Needs no privileges and no huge pages.
 *
 * What it measures is QEMU's soft TLB. That TLB keeps stale entries until they are flushed, so refills are
 * exact and the whole tool can be tried and tested on it; but it holds no large pages, imitates them by
 * remembering the area that they cover, and drops global entries at a CR3 write. So no row of it says
 * anything about hardware, and its cycles (marked emulated-cpu) are the emulator's.
 */
#include "target.h"

#include "link.h"
#include "qemu.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define LEAST_MEMORY (128ULL << 20)

struct tcg {
	struct qemu qemu;
	struct link link;
	struct hello hello;
	char *image, *version, *by_hand;
};

static int tcg_send(void *context, const char *line)
{
	return qemu_send(context, line);
}

static int tcg_receive(void *context, double seconds, const char **line)
{
	return qemu_receive(context, seconds, line);
}

static void tcg_free(struct target *target)
{
	struct tcg *tcg = target->state;

	hello_free(&tcg->hello);
	free(tcg->image);
	free(tcg->version);
	free(tcg->by_hand);
	free(tcg);
	free(target->cpu);
	target->cpu = NULL;
	target->state = NULL;
}

/* A start that failed: the reason goes to the caller, the process away. */
static int give_up(struct target *target, int result, struct problem *p)
{
	struct tcg *tcg = target->state;
	char how[64];

	qemu_end(&tcg->qemu, result == -EPIPE ? 1.0 : 0);
	if (result == -EPIPE || result == -ETIMEDOUT)
		problem(p, EXIT_FAILED, "the guest image %s before its first word (QEMU: %s); its "
			"last words are in log.txt",
			result == -EPIPE ? "ended" : "said nothing", 
			qemu_how_ended(&tcg->qemu, how, sizeof(how)));
	tcg_free(target);
	return result;
}

static int tcg_open(struct target *target, struct problem *p)
{
	struct tcg *tcg = xcalloc(1, sizeof(*tcg));
	u64 need = plan_memory(target->plan);
	struct qemu_config config = {
		.program = target->options->qemu,
		.accel = "tcg",
		.cpu = target->options->cpu ?: "max",
		.memory = target->options->memory ?: need > LEAST_MEMORY ? need : LEAST_MEMORY,
	};
	int result;

	target->state = tcg;
	target->accel = "tcg";
	tcg->image = target->options->guest_image ? xstrdup(target->options->guest_image) :
						     data_path("tlbscope-guest.elf");
	config.image = tcg->image;
	result = qemu_start(&tcg->qemu, &config, target->log, p);
	if (result)
		return give_up(target, result, p);
	tcg->version = xstrdup(tcg->qemu.version);
	tcg->by_hand = xstrdup(tcg->qemu.by_hand);
	tcg->link = (struct link){ &tcg->qemu, tcg_send, tcg_receive, target->log,
				   target->options->timeout };
	result = link_hello(&tcg->link, &tcg->hello, p);
	if (result)
		return give_up(target, result, p);
	target->features = tcg->hello.features;
	target->cpu = xasprintf("QEMU %s TCG %s", tcg->version, config.cpu);
	return 0;
}

static int tcg_measure(struct target *target, const struct ts_case *c, struct row *row,
		       struct problem *p)
{
	struct tcg *tcg = target->state;

	row->host = "none";
	row->host_how = "";
	if (c->phase != TS_REFILL)
		row_reason(row, "emulated-cpu");
	return link_measure(&tcg->link, c, row, p);
}

static int tcg_close(struct target *target, struct problem *p)
{
	struct tcg *tcg = target->state;
	int marked = !link_end(&tcg->link), clean;
	char how[64];

	qemu_end(&tcg->qemu, marked ? 5.0 : 0);
	clean = WIFEXITED(tcg->qemu.status) && WEXITSTATUS(tcg->qemu.status) == QEMU_CLEAN_EXIT;
	if (!marked || !clean)
		problem(p, EXIT_FAILED, "the guest did not end cleanly (%s marker, QEMU: %s); see log.txt",
			marked ? "end" : "no end", qemu_how_ended(&tcg->qemu, how, sizeof(how)));
	tcg_free(target);
	return marked && clean ? 0 : -EPIPE;
}

static void tcg_describe(const struct target *target, json_t *run)
{
	const struct tcg *tcg = target->state;

	json_object_set_new(run, "qemu", json_pack("{s:s, s:s}", "version", tcg->version,
						   "by_hand", tcg->by_hand));
	json_object_set(run, "guest", tcg->hello.keys);
}

static const char *const tcg_probes[] = { "qemu", "guest-image", 0 };

const struct target_ops target_tcg = {
	.name = "tcg",
	.claims = "exact refills of QEMU's soft TLB, on any machine",
	.cannot = "says nothing about hardware: QEMU's TLB imitates large pages",
	.probes = tcg_probes,
	.phases = 1u << TS_REFILL,
	.open = tcg_open,
	.measure = tcg_measure,
	.close = tcg_close,
	.describe = tcg_describe,
};
