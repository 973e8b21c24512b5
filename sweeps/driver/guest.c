// SPDX-License-Identifier: GPL-2.0
/* Start and end of the guest image under QEMU. */
#include "guest.h"

#include "counting_link.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define LEAST_MEMORY (128ULL << 20) /* the self-check of counters takes 96 MiB */

static int send_line(void *context, const char *line)
{
	return qemu_send(context, line);
}

static int receive_line(void *context, double seconds, const char **line)
{
	return qemu_receive(context, seconds, line);
}

static void guest_free(struct guest *guest)
{
	hello_free(&guest->hello);
	free(guest->version);
	free(guest->by_hand);
	guest->version = guest->by_hand = NULL;
}

/* A start that failed: the reason goes to the caller, the process away. */
static int give_up(struct guest *guest, int result, struct problem *p)
{
	char how[64];

	qemu_end(&guest->qemu, result == -EPIPE ? 1.0 : 0);
	guest->qemu.died |= result == -EPIPE;
	if (result == -EPIPE || result == -ETIMEDOUT)
		problem(p, EXIT_FAILED, "the guest image %s before its first word (QEMU: %s); its "
			"last words are in log.txt", result == -EPIPE ? "ended" : "said nothing",
			qemu_how_ended(&guest->qemu, how, sizeof(how)));
	guest_free(guest);
	return result;
}

int guest_start(struct guest *guest, const struct target *target, struct qemu_config *config,
		struct problem *p)
{
	char *image = target->options->guest_image ? xstrdup(target->options->guest_image) :
						     data_path("tlbscope-guest.elf");
	int result;

	memset(guest, 0, sizeof(*guest));
	config->program = target->options->qemu;
	config->image = image;
	result = qemu_start(&guest->qemu, config, target->log, p);
	free(image);
	if (result)
		return give_up(guest, result, p);
	guest->version = xstrdup(guest->qemu.version);
	guest->by_hand = xstrdup(guest->qemu.by_hand);
	guest->link = (struct link){ &guest->qemu, send_line, receive_line, target->log,
				     target->options->timeout, "guest", 0 };
	result = link_hello(&guest->link, &guest->hello, p);
	return result ? give_up(guest, result, p) : 0;
}

int guest_vcpu_thread(struct guest *guest)
{
	json_t *cpus = NULL;
	struct problem ignored;
	int thread = 0;

	if (!qemu_command(&guest->qemu, "query-cpus-fast", NULL, &cpus, &ignored))
		thread = json_integer_value(json_object_get(json_array_get(cpus, 0), "thread-id"));
	json_decref(cpus);
	return thread;
}

int guest_count(struct guest *guest, const struct target *target, enum perf_side side,
		struct problem *p)
{
	struct counting *counting = target->counting;
	int result, thread = counting->source == COUNT_HOST ? guest_vcpu_thread(guest) : 0;

	if (counting->source == COUNT_HOST && !thread) {
		counting_give_up(counting, "QEMU does not tell its vCPU's thread (query-cpus-fast)");
		return 0;
	}
	result = counting_link_open(counting, &guest->link, &guest->hello, thread, side);
	guest->broken = result == -EPIPE || result == -ETIMEDOUT;
	if (guest->broken)
		problem(p, EXIT_FAILED, "the guest %s in the self-check of its counters; see log.txt, or go "
			"without: --counters none", result == -EPIPE ? "ended" : "gave no answer");
	return result;
}

int guest_measure(struct guest *guest, struct counting *counting, const struct ts_case *c,
		  struct row *row, struct problem *p)
{
	int result = counting_link_measure(counting, &guest->link, c, row, p);

	guest->broken = result == -EPIPE || result == -ETIMEDOUT;
	return result;
}

int guest_slope(struct guest *guest, struct counting *counting, struct row *row, struct problem *p)
{
	int result = counting_link_slope(counting, &guest->link, row, p);

	guest->broken = result == -EPIPE || result == -ETIMEDOUT;
	return result;
}

int guest_end(struct guest *guest, struct problem *p)
{
	int marked = !guest->broken && !link_end(&guest->link), clean;
	char how[64];

	qemu_end(&guest->qemu, marked ? 5.0 : guest->broken ? 0.2 : 0);
	clean = WIFEXITED(guest->qemu.status) && WEXITSTATUS(guest->qemu.status) == QEMU_CLEAN_EXIT;
	if (!marked || !clean)
		problem(p, EXIT_FAILED, "the guest did not end cleanly (%s marker, QEMU: %s); see log.txt",
			marked ? "end" : "no end", qemu_how_ended(&guest->qemu, how, sizeof(how)));
	guest_free(guest);
	return marked && clean ? 0 : -EPIPE;
}

void guest_describe(const struct guest *guest, const char *cpu_model, json_t *run)
{
	json_object_set_new(run, "qemu", json_pack("{s:s, s:s, s:s}", "version", guest->version, "cpu_model",
						   cpu_model, "by_hand", guest->by_hand));
	json_object_set(run, "guest", guest->hello.keys);
}

u64 guest_memory(const struct target *target, int gigabytes)
{
	u64 need = plan_memory(target->plan, target->ops->name, gigabytes);

	return target->options->memory ?: need > LEAST_MEMORY ? need : LEAST_MEMORY;
}
