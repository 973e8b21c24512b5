// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU as a child process.
 *
 * fork and exec rather than posix_spawn: the child has to ask for a signal at the driver's death
 * (PR_SET_PDEATHSIG), or a killed driver would leave a QEMU behind that waits for ever. The signal reaches that one
 * process only, and --qemu may be a script around QEMU: for that there is the guard (guard.h).
 */
#include "qemu.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OLDEST 702	   /* QEMU 7.2, the oldest that tlbscope is tested with */
#define MOST_BYTES (1 << 20) /* without a line end; a row has some hundred */
/*
 * For QMP's greeting: a loaded machine takes a second, and prealloc=on clears all of the guest's RAM first, at
 * gigabytes a second on a machine that does nothing else.
 */
#define START_SECONDS 20.0
#define CLEARED_IN_A_SECOND (256.0 * (1 << 20))

/* ---- version ---- */

int qemu_version(const char *program, int *version, char *text, size_t size, struct problem *p)
{
	char *command = xasprintf("'%s' --version 2>&1", program), line[256] = "";
	int major = 0, minor = 0;
	FILE *out;

	if (strchr(program, '\'')) {
		free(command);
		return problem(p, EXIT_INPUT, "--qemu %s: a quote in the path", program);
	}
	out = popen(command, "r");
	free(command);
	if (out) {
		if (!fgets(line, sizeof(line), out))
			line[0] = '\0';
		pclose(out);
	}
	if (sscanf(line, "QEMU emulator version %d.%d", &major, &minor) != 2) {
		line[strcspn(line, "\n")] = '\0';
		return problem(p, EXIT_INPUT, "QEMU: \"%s --version\" gives no version (%s); install "
			       "qemu-system-x86 or name it with --qemu PATH", program, line);
	}
	*version = major * 100 + minor;
	snprintf(text, size, "%.*s", (int)strcspn(line + 22, " \n("), line + 22);
	if (*version < OLDEST)
		return problem(p, EXIT_INPUT, "QEMU %s (%s) is too old: 7.2 or newer is needed; name "
			       "another with --qemu PATH", text, program);
	return 0;
}

/* ---- start ---- */

/* Arguments under construction. */
struct arguments {
	char *list[80];
	int n;
};

static void add(struct arguments *a, char *argument)
{
	if (a->n < (int)TS_COUNT(a->list) - 1)
		a->list[a->n++] = argument;
}

static void add_all(struct arguments *a, const char *const *more)
{
	for (; more && *more; more++)
		add(a, xstrdup(*more));
}

static void free_arguments(struct arguments *a)
{
	while (a->n)
		free(a->list[--a->n]);
}

/* What every start has, by the driver or by hand. */
static void common_arguments(struct arguments *a, const struct qemu_config *config)
{
	const char *const fixed[] = { "-nodefaults", "-no-user-config", "-display", "none",
				      "-no-reboot", 0 };

	memset(a, 0, sizeof(*a));
	add(a, xstrdup(config->program));
	add_all(a, fixed);
	add(a, xstrdup("-machine"));
	add(a, xstrdup(config->machine));
	add(a, xstrdup("-accel"));
	add(a, xstrdup(config->accel));
	add(a, xstrdup("-cpu"));
	add(a, xstrdup(config->cpu));
	add(a, xstrdup("-smp"));
	add(a, xstrdup("1"));
	add(a, xstrdup("-m"));
	add(a, xasprintf("%lluM", (config->memory + (1 << 20) - 1) >> 20));
	add_all(a, config->more);
	add(a, xstrdup("-device"));
	add(a, xstrdup("isa-debug-exit,iobase=0xf4,iosize=0x04"));
	add(a, xstrdup("-kernel"));
	add(a, xstrdup(config->image));
}

static void add_channel(struct arguments *a, const char *id, int fd)
{
	add(a, xstrdup("-chardev"));
	add(a, xasprintf("socket,id=%s,fd=%d", id, fd));
}

/* The first serial port is the log, the second the protocol. */
static void driver_arguments(struct arguments *a, const struct qemu_config *config, int protocol,
			     int monitor, int output)
{
	common_arguments(a, config);
	add_channel(a, "log", output);
	add_channel(a, "protocol", protocol);
	add_channel(a, "monitor", monitor);
	add(a, xstrdup("-serial"));
	add(a, xstrdup("chardev:log"));
	add(a, xstrdup("-serial"));
	add(a, xstrdup("chardev:protocol"));
	add(a, xstrdup("-mon"));
	add(a, xstrdup("chardev=monitor,mode=control"));
	add(a, xstrdup("-append"));
	add(a, xstrdup("proto=com2 exit=qemu"));
}

static char *shell_line(const struct arguments *a)
{
	char *line = xstrdup(""), *next, *word;
	int i;

	for (i = 0; i < a->n; i++) {
		word = shell_word(a->list[i]);
		next = xasprintf("%s%s%s", line, i ? " " : "", word);
		free(line);
		free(word);
		line = next;
	}
	return line;
}

static char *hand_line(const struct qemu_config *config)
{
	struct arguments a;
	char *line;

	common_arguments(&a, config);
	add(&a, xstrdup("-serial"));
	add(&a, xstrdup("stdio"));
	add(&a, xstrdup("-append"));
	add(&a, xstrdup("exit=qemu"));
	line = shell_line(&a);
	free_arguments(&a);
	return line;
}

/* In the child: becomes QEMU; the three sockets stay open across exec. Never returns. */
static void become_qemu(const struct arguments *a, pid_t parent, int output, const int *keep)
{
	int null = open("/dev/null", O_RDONLY), i;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	setpgid(0, 0); /* Ctrl-C on the terminal is the driver's to handle */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, 0);
	dup2(output, 1);
	dup2(output, 2);
	for (i = 0; i < 3; i++)
		fcntl(keep[i], F_SETFD, 0);
	execvp(a->list[0], a->list);
	dprintf(2, "cannot start %s: %s\n", a->list[0], strerror(errno));
	_exit(127);
}

static int socket_pair(int *mine, int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	*mine = pair[0];
	*theirs = pair[1];
	return 0;
}

static int await_greeting(struct qemu *qemu, struct problem *p);

int qemu_start(struct qemu *qemu, const struct qemu_config *config, FILE *log, struct problem *p)
{
	int theirs[3] = { -1, -1, -1 }, i, result;
	struct arguments a;
	pid_t parent = getpid();
	char *line;

	memset(qemu, 0, sizeof(*qemu));
	qemu->log = log;
	qemu->start_seconds = START_SECONDS + config->memory / CLEARED_IN_A_SECOND;
	qemu->protocol.fd = qemu->monitor.fd = qemu->output.fd = -1;
	result = socket_pair(&qemu->protocol.fd, &theirs[0]) ?:
		 socket_pair(&qemu->monitor.fd, &theirs[1]) ?:
		 socket_pair(&qemu->output.fd, &theirs[2]);
	if (result)
		return problem(p, EXIT_FAILED, "socketpair: %s", strerror(-result));
	driver_arguments(&a, config, theirs[0], theirs[1], theirs[2]);
	line = shell_line(&a);
	qemu->by_hand = hand_line(config);
	fprintf(log, "driver: qemu: %s\ndriver: by hand: %s\n", line, qemu->by_hand);
	fflush(log);
	free(line);
	qemu->pid = fork();
	if (!qemu->pid)
		become_qemu(&a, parent, theirs[2], theirs);
	free_arguments(&a);
	for (i = 0; i < 3; i++)
		close(theirs[i]);
	if (qemu->pid < 0) {
		qemu->pid = 0;
		return problem(p, EXIT_FAILED, "fork: %s", strerror(errno));
	}
	qemu->group = qemu->pid;
	setpgid(qemu->pid, qemu->pid); /* the child does so, too; whoever is first */
	result = guard_start(&qemu->guard, qemu->group);
	if (result)
		return problem(p, EXIT_FAILED, "the guard of QEMU: %s", strerror(-result));
	return await_greeting(qemu, p);
}

/* ---- streams ---- */

/* Reads what is there; closes the stream at its end. */
static void fill(struct stream *stream)
{
	char bytes[4096];
	ssize_t n = read(stream->fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close(stream->fd);
		stream->fd = -1;
		return;
	}
	if (stream->length > MOST_BYTES) { /* no line of ours: whatever it is, it is broken */
		close(stream->fd);
		stream->fd = -1;
		return;
	}
	stream->bytes = xrealloc(stream->bytes, stream->length + n + 1);
	memcpy(stream->bytes + stream->length, bytes, n);
	stream->length += n;
	stream->bytes[stream->length] = '\0';
}

/* Cuts the first whole line off; caller frees; 0 if there is none. */
/* What is no printable ASCII is no part of any protocol here, and could steer a terminal. */
static void make_printable(char *line, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || (unsigned char)line[i] >= 0x7f)
			line[i] = line[i] == '\t' ? ' ' : '?';
}

static char *cut_line(struct stream *stream)
{
	char *end = stream->length ? memchr(stream->bytes, '\n', stream->length) : NULL, *line;
	size_t n;

	if (!end)
		return NULL;
	n = end - stream->bytes;
	line = xcalloc(1, n + 1);
	memcpy(line, stream->bytes, n);
	if (n && line[n - 1] == '\r')
		line[--n] = '\0';
	make_printable(line, n);
	stream->length -= end + 1 - stream->bytes;
	memmove(stream->bytes, end + 1, stream->length + 1);
	return line;
}

/* Everything that guest, firmware and QEMU said so far goes to log.txt. */
static void copy_log(struct qemu *qemu, int rest)
{
	char *line;

	while ((line = cut_line(&qemu->output))) {
		fprintf(qemu->log, "guest: %s\n", line);
		snprintf(qemu->last, sizeof(qemu->last), "%s", line);
		free(line);
	}
	if (rest && qemu->output.length) {
		fprintf(qemu->log, "guest: %s\n", qemu->output.bytes);
		qemu->output.length = 0;
	}
	fflush(qemu->log);
}

/*
 * Waits until deadline for something on any stream. 0, -ETIMEDOUT, -EINTR, or -EPIPE when the wanted stream is
 * closed. Short waits: a signal that comes just before poll() is seen soon.
 */
static int pump(struct qemu *qemu, struct stream *wanted, double deadline)
{
	struct stream *streams[] = { &qemu->protocol, &qemu->monitor, &qemu->output };
	struct pollfd fds[3];
	double left = deadline - now_seconds();
	int i;

	if (interrupted)
		return -EINTR;
	if (wanted->fd < 0)
		return -EPIPE;
	if (left <= 0)
		return -ETIMEDOUT;
	for (i = 0; i < 3; i++)
		fds[i] = (struct pollfd){ .fd = streams[i]->fd, .events = POLLIN };
	if (poll(fds, 3, left > 0.2 ? 200 : (int)(left * 1000) + 1) <= 0)
		return 0;
	for (i = 0; i < 3; i++)
		if (fds[i].revents)
			fill(streams[i]);
	copy_log(qemu, 0);
	return 0;
}

static int next_line(struct qemu *qemu, struct stream *wanted, double deadline, char **line)
{
	int result;

	while (!(*line = cut_line(wanted))) {
		result = pump(qemu, wanted, deadline);
		if (result)
			return result;
	}
	return 0;
}

int qemu_send(struct qemu *qemu, const char *line)
{
	char *bytes = xasprintf("%s\n", line);
	size_t length = strlen(bytes);
	ssize_t n = send(qemu->protocol.fd, bytes, length, MSG_NOSIGNAL);

	free(bytes);
	return n == (ssize_t)length ? 0 : -EPIPE;
}

int qemu_receive(struct qemu *qemu, double seconds, const char **line)
{
	static char *last; /* the driver talks to one guest at a time */

	free(last);
	last = NULL;
	*line = NULL;
	return next_line(qemu, &qemu->protocol, now_seconds() + seconds, &last) ?: (*line = last, 0);
}

/* ---- QMP ---- */

/* The next QMP message that is no event; caller owns it. The time is for the answer, whatever else is said meanwhile. */
static int monitor_message(struct qemu *qemu, json_t **message)
{
	double deadline = now_seconds() + qemu->start_seconds;
	json_error_t error;
	char *line;
	int result;

	for (;;) {
		result = next_line(qemu, &qemu->monitor, deadline, &line);
		if (result)
			return result;
		*message = json_loads(line, 0, &error);
		free(line);
		if (*message && !json_object_get(*message, "event"))
			return 0;
		json_decref(*message);
	}
}

static int monitor_failed(struct qemu *qemu, int result, const char *what, struct problem *p)
{
	char how[64];
	int refused;

	if (result == -EINTR)
		return result;
	qemu->died = result == -EPIPE;
	qemu_end(qemu, 1.0);
	/* Exit code 1 before it answered: it did not like its command line, so the user's options; 0: it was asked for help. */
	refused = !qemu->started && WIFEXITED(qemu->status) && WEXITSTATUS(qemu->status) <= 1;
	return problem(p, refused ? EXIT_INPUT : EXIT_FAILED, "QEMU %s at %s (%s)%s%s%s",
		       result == -EPIPE ? "ended" : "does not answer", what,
		       qemu_how_ended(qemu, how, sizeof(how)), *qemu->last ? ", saying: " : "", qemu->last,
		       refused ? "; see the options --cpu, --memory and --image" : "");
}

static int await_greeting(struct qemu *qemu, struct problem *p)
{
	json_t *message, *v;
	int major = 0, minor = 0, micro = 0, result = monitor_message(qemu, &message);

	if (result)
		return monitor_failed(qemu, result, "its start", p);
	v = json_object_get(json_object_get(message, "QMP"), "version");
	json_unpack(v, "{s:{s:i, s:i, s:i}}", "qemu", "major", &major, "minor", &minor, "micro",
		    &micro);
	qemu->version = xasprintf("%d.%d.%d", major, minor, micro);
	json_decref(message);
	result = qemu_command(qemu, "qmp_capabilities", NULL, NULL, p);
	qemu->started = !result;
	return result;
}

int qemu_command(struct qemu *qemu, const char *command, json_t *arguments, json_t **reply,
		 struct problem *p)
{
	json_t *request = json_pack("{s:s, s:o*}", "execute", command, "arguments", arguments);
	json_t *message, *value;
	char *text = json_dumps(request, JSON_COMPACT), *line = xasprintf("%s\n", text);
	int result;

	json_decref(request);
	free(text);
	result = send(qemu->monitor.fd, line, strlen(line), MSG_NOSIGNAL) < 0 ? -EPIPE : 0;
	free(line);
	if (!result)
		result = monitor_message(qemu, &message);
	if (result)
		return monitor_failed(qemu, result, command, p);
	value = json_object_get(message, "return");
	if (!value)
		result = problem(p, EXIT_FAILED, "QMP %s: %s", command,
				 json_string_value(json_object_get(json_object_get(message, "error"),
								   "desc")) ?: "no reply");
	else if (reply)
		*reply = json_incref(value);
	json_decref(message);
	return result;
}

/* ---- end ---- */

static int try_wait(struct qemu *qemu)
{
	if (qemu->pid && waitpid(qemu->pid, &qemu->status, WNOHANG) == qemu->pid)
		qemu->pid = 0;
	return !qemu->pid;
}

static void drop(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream->bytes);
	memset(stream, 0, sizeof(*stream));
	stream->fd = -1;
}

/* QEMU if it is still there, what a script around it left behind, and the guard. */
static void kill_group(struct qemu *qemu)
{
	if (qemu->pid || qemu->guard.pid) /* one of the two keeps the group's number */
		kill(-qemu->group, SIGKILL);
	if (qemu->pid) {
		kill(qemu->pid, SIGKILL);
		waitpid(qemu->pid, &qemu->status, 0);
	}
	guard_end(&qemu->guard);
	qemu->pid = qemu->group = 0;
}

void qemu_end(struct qemu *qemu, double seconds)
{
	double deadline = now_seconds() + seconds;

	while (!try_wait(qemu) && now_seconds() < deadline) {
		struct pollfd fd = { .fd = qemu->output.fd, .events = POLLIN };

		if (poll(&fd, 1, 2) > 0)
			fill(&qemu->output);
	}
	kill_group(qemu);
	while (qemu->output.fd >= 0) {
		struct pollfd fd = { .fd = qemu->output.fd, .events = POLLIN };

		if (poll(&fd, 1, 0) <= 0)
			break;
		fill(&qemu->output);
	}
	if (qemu->log)
		copy_log(qemu, 1);
	drop(&qemu->protocol);
	drop(&qemu->monitor);
	drop(&qemu->output);
	free(qemu->version);
	free(qemu->by_hand);
	qemu->version = qemu->by_hand = NULL;
}

const char *qemu_how_ended(const struct qemu *qemu, char *text, size_t size)
{
	if (WIFSIGNALED(qemu->status))
		snprintf(text, size, "killed by signal %d", WTERMSIG(qemu->status));
	else
		snprintf(text, size, "exit code %d", WEXITSTATUS(qemu->status));
	return text;
}
