// SPDX-License-Identifier: GPL-2.0
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. Never returns. */
static void become_guard(pid_t group, int life)
{
	char byte;

	if (setpgid(0, group) || dup2(life, 0) < 0 || close_range(1, ~0u, 0))
		_exit(1);
	prctl(PR_SET_NAME, "tlbscope-guard");
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	kill(0, SIGKILL); /* not this program's group, since setpgid() succeeded */
	_exit(1);
}

int guard_start(struct guard *guard, pid_t group)
{
	int life[2], error;

	if (pipe2(life, O_CLOEXEC))
		return -errno;
	guard->pid = fork();
	error = errno;
	if (!guard->pid)
		become_guard(group, life[0]);
	close(life[0]);
	guard->life = life[1];
	if (guard->pid > 0)
		return 0;
	close(guard->life);
	memset(guard, 0, sizeof(*guard));
	return -error;
}

void guard_end(struct guard *guard)
{
	if (!guard->pid)
		return;
	kill(guard->pid, SIGKILL);
	waitpid(guard->pid, NULL, 0);
	close(guard->life);
	memset(guard, 0, sizeof(*guard));
}
