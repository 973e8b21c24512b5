// SPDX-License-Identifier: GPL-2.0
/*
 * tlbscope's module: the guest image's twin on the running kernel's own CPU.
 *
 * /dev/tlbscope speaks the line protocol (protocol.h). Write requests, read answers:
 *
 *	exec 3<>/dev/tlbscope; echo 'case op=cr3 guest=4k leaves=50' >&3; cat <&3
 *	echo 'case op=cr3 guest=4k leaves=50' >/dev/tlbscope; cat /dev/tlbscope
 *
 * Opening it is the start of a guest: the first line says hello. A read waits while a request is
 * not answered, and finds the end of the file when all are, so that cat ends. A client that can
 * only write waits in write() for the answers, which are kept for the next one that opens the
 * device to read. One client at a time; when it is gone, nothing of it is left, in the middle of a
 * case too.
 *
 * The cases run in a thread on the CPU on which the device was opened (taskset chooses it).
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "host.h"
#include "version.h"

#ifndef CONFIG_X86_64
#error tlbscope needs 64-bit x86
#endif

#undef pr_fmt
#define pr_fmt(fmt) "tlbscope: " fmt

static DEFINE_MUTEX(one_client); /* of the two below */
static struct ts_session *current_session;
static struct {
	char *text; /* answers that a write-only client has left */
	unsigned int bytes;
} kept;

/* ---- start and end of a session ---- */

static void drop_kept(void)
{
	vfree(kept.text);
	kept.text = NULL;
	kept.bytes = 0;
}

static void session_free(struct ts_session *s)
{
	ts_experiment_destroy(&s->x);
	vfree(s);
}

static struct ts_session *session_new(void)
{
	struct ts_session *s = ts_vzalloc(sizeof(*s));

	if (!s)
		return NULL;
	init_waitqueue_head(&s->wait);
	spin_lock_init(&s->lock);
	mutex_init(&s->reading);
	mutex_init(&s->writing);
	INIT_KFIFO(s->in);
	INIT_KFIFO(s->out);
	s->working = 1; /* until the thread has looked for requests */
	if (!ts_experiment_init(&s->x))
		return s;
	session_free(s);
	return NULL;
}

/*
 * Starts the thread on this CPU. A reference keeps its task, since it may end before it is stopped.
 */
static int session_start(struct ts_session *s)
{
	struct task_struct *thread;

	thread = ts_alloc_fails() ? ERR_PTR(-ENOMEM) :
				    kthread_create(ts_session_thread, s, "tlbscope");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, raw_smp_processor_id());
	get_task_struct(thread);
	s->thread = thread;
	wake_up_process(thread);
	return 0;
}

static bool idle(struct ts_session *s)
{
	bool result;

	spin_lock(&s->lock);
	result = !s->working && kfifo_is_empty(&s->in);
	spin_unlock(&s->lock);
	return result;
}

static void keep_answers(struct ts_session *s)
{
	unsigned int n = kfifo_len(&s->out);

	if (s->readable || !n || !idle(s))
		return;
	kept.text = ts_vzalloc(n);
	if (kept.text)
		kept.bytes = kfifo_out(&s->out, kept.text, n);
}

static int open_session(struct file *file)
{
	struct ts_session *s;
	int result;

	if (current_session)
		return -EBUSY;
	s = session_new();
	if (!s)
		return -ENOMEM;
	s->readable = !!(file->f_mode & FMODE_READ);
	s->greet = s->readable;
	if (kept.text && !(file->f_mode & FMODE_WRITE)) {
		kfifo_in(&s->out, kept.text, kept.bytes);
		s->greet = 0;
	}
	drop_kept();
	result = session_start(s);
	if (result) {
		session_free(s);
		return result;
	}
	current_session = s;
	file->private_data = s;
	return 0;
}

static int device_open(struct inode *inode, struct file *file)
{
	int result;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	if (mutex_lock_interruptible(&one_client))
		return -ERESTARTSYS;
	result = open_session(file);
	mutex_unlock(&one_client);
	return result ? result : nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct ts_session *s = file->private_data;

	mutex_lock(&one_client);
	keep_answers(s);
	kthread_stop(s->thread);
	put_task_struct(s->thread);
	session_free(s);
	current_session = NULL;
	mutex_unlock(&one_client);
	return 0;
}

/* ---- the client's calls ---- */

static ssize_t device_read(struct file *file, char __user *buffer, size_t size, loff_t *position)
{
	struct ts_session *s = file->private_data;
	unsigned int copied = 0;
	int result = 0;

	if (mutex_lock_interruptible(&s->reading))
		return -ERESTARTSYS;
	while (kfifo_is_empty(&s->out) && !result) {
		/* Answers come before the session is idle: look at them once more behind that. */
		if (idle(s) && kfifo_is_empty(&s->out))
			break;
		if (file->f_flags & O_NONBLOCK)
			result = -EAGAIN;
		else
			result = wait_event_interruptible(s->wait,
							  !kfifo_is_empty(&s->out) || idle(s));
	}
	if (!result)
		result = kfifo_to_user(&s->out, buffer, size, &copied);
	mutex_unlock(&s->reading);
	wake_up_all(&s->wait);
	if (result)
		return result;
	return copied;
}

/* Queues all of the buffer; 0, or why it stopped at *done bytes. */
static int queue_requests(struct ts_session *s, const char __user *buffer, size_t size,
			  size_t *done, bool block)
{
	unsigned int copied;
	int result;

	while (*done < size) {
		if (kfifo_is_full(&s->in) && !block)
			return -EAGAIN;
		if (wait_event_interruptible(s->wait, !kfifo_is_full(&s->in)))
			return -ERESTARTSYS;
		result = kfifo_from_user(&s->in, buffer + *done, size - *done, &copied);
		if (result)
			return result;
		*done += copied;
		wake_up_all(&s->wait);
	}
	return 0;
}

static ssize_t device_write(struct file *file, const char __user *buffer, size_t size,
			    loff_t *position)
{
	struct ts_session *s = file->private_data;
	size_t done = 0;
	int result;

	if (mutex_lock_interruptible(&s->writing))
		return -ERESTARTSYS;
	result = queue_requests(s, buffer, size, &done, !(file->f_flags & O_NONBLOCK));
	mutex_unlock(&s->writing);
	if (!result && !s->readable)
		wait_event_interruptible(s->wait,
					 idle(s) || kfifo_avail(&s->out) < sizeof(s->answer));
	if (done)
		return done;
	return result;
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct ts_session *s = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &s->wait, table);
	if (!kfifo_is_empty(&s->out))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (!kfifo_is_full(&s->in))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE, /* a device that is open keeps the module */
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.write = device_write,
	.poll = device_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tlbscope",
	.mode = 0600,
	.fops = &operations,
};

/* ---- the module ---- */

static int __init tlbscope_init(void)
{
	const char *refusal = ts_machine_refusal();
	int result;

	if (refusal) {
		pr_err("not loaded: %s\n", refusal);
		return -ENODEV;
	}
	result = ts_alloc_fails() ? -ENOMEM : misc_register(&device);
	if (result)
		pr_err("not loaded: no device, error %d\n", result);
	else
		pr_info("version " TS_VERSION " ready at /dev/tlbscope\n");
	return result;
}

static void __exit tlbscope_exit(void)
{
	misc_deregister(&device);
	drop_kept();
	if (ts_pages_held())
		pr_err("BUG: %llu pages were not freed\n", ts_pages_held());
}

module_init(tlbscope_init);
module_exit(tlbscope_exit);

MODULE_DESCRIPTION("tlbscope: what a TLB flush drops, measured on this CPU");
MODULE_LICENSE("GPL");
MODULE_VERSION(TS_VERSION);
