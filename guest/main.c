// SPDX-License-Identifier: GPL-2.0
/*
 * The bare-metal image: options from the command line, then a plan or a conversation.
 *
 *	tlbscope-guest.elf [proto=com1|com2] [exit=halt|qemu|reboot] [sweep key=list ... [; ...]]
 *
 * Everything from the word `sweep` on is a plan, which the image runs on its own. Words before it
 * without `=` are skipped: loaders put the path of the image there.
 */
#include <stddef.h>

#include "bootinfo.h"
#include "console.h"
#include "cpu.h"
#include "exception.h"
#include "exit.h"
#include "memory.h"
#include "pmu.h"
#include "serial.h"
#include "session.h"
#include "version.h"

struct options {
	u32 proto, exit;
	char *plan; /* 0 for none */
};

static const char *const proto_words[] = { "com1", "com2", 0 }; /* enum serial */
static const char *const exit_words[] = { "halt", "qemu", "reboot", 0 }; /* enum exit_way */

static const struct option {
	const char *name;
	const char *const *words;
	u32 offset; /* of its u32 in struct options */
} option_table[] = {
	{ "proto", proto_words, offsetof(struct options, proto) },
	{ "exit", exit_words, offsetof(struct options, exit) },
};

/* Stores the option that the pair names; 1 if there is one and it takes that value. */
static u8 set_option(struct options *options, const struct ts_pair *pair)
{
	for (u32 i = 0; i < TS_COUNT(option_table); i++) {
		const struct option *o = &option_table[i];

		if (!ts_equal_n(pair->key, pair->key_length, o->name))
			continue;
		for (u32 w = 0; o->words[w]; w++) {
			if (ts_equal_n(pair->value, pair->value_length, o->words[w])) {
				*(u32 *)((char *)options + o->offset) = w;
				return 1;
			}
		}
	}
	return 0;
}

static void log_unknown(const struct ts_pair *pair)
{
	char words[64];
	struct ts_text text;

	ts_text_init(&text, words, sizeof(words));
	ts_put_n(&text, pair->key, pair->value + pair->value_length - pair->key);
	console_log("not an option: ", words,
		    "; known are proto=com1|com2, exit=halt|qemu|reboot and a plan (sweep ...)");
}

/* Takes the command line apart; an unknown option is worth a line in the log, no more. */
static void parse_options(char *line, struct options *options)
{
	const char *at = line, *word, *start;
	struct ts_error error;
	struct ts_pair pair;
	u32 length;

	for (;;) {
		start = at;
		length = ts_word(&at, &word);
		if (!length)
			return;
		if (ts_equal_n(word, length, "sweep")) {
			options->plan = line + (word - line);
			return;
		}
		/* A word that is no pair names nothing: the path of the image, a flag for Linux. */
		if (ts_pair(&start, &pair, &error) == TS_OK && !set_option(options, &pair))
			log_unknown(&pair);
	}
}

/* Called by boot.S with what the loader left. */
void guest_main(u32 loader, u64 info) __attribute__((noreturn));
void guest_main(u32 loader, u64 info)
{
	static char line[MAX_COMMAND_LINE + 1];
	static struct cpu_info cpu;
	struct options options = { COM1, EXIT_HALT, 0 };
	const char *name;

	serial_init();
	console_protocol(COM1);
	exception_init();
	cpu_detect(&cpu);
	memory_init(&cpu);
	name = bootinfo_read(loader, info, line);
	memory_end_peeking();
	memory_find_frames();

	console_log("tlbscope guest " TS_VERSION ", loaded by ", name ? name : "unknown", 0);
	console_log("command line: ", line, 0);
	parse_options(line, &options);
	if (options.proto == COM2 && !serial_present(COM2))
		console_log("COM2 is absent, the protocol stays on COM1", 0, 0);
	console_protocol(options.proto);
	exit_by(options.exit);

	pmu_init();
	session_init(&cpu);
	session_hello();
	if (options.plan)
		session_run_plan(options.plan);
	session_serve();
}
