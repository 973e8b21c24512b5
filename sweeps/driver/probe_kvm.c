// SPDX-License-Identifier: GPL-2.0
/*
 * A VM of one vCPU and 64 KiB that counts down: does KVM run guest code on the CPU?
 *
 * Some KVMs emulate a guest's ring 0 instruction by instruction. The loop runs in 64-bit ring 0, as
 * the guest image does; real mode would not do, since a CPU without unrestricted guest has that
 * emulated as well. Two lengths are timed from outside and subtracted, so that entry, exit and the
 * first faults of the nested tables cancel; the best of a few tries is the one that no other
 * program interrupted. A timer ends a loop that takes far too long: that is an answer, too.
 */
#include "probe_looks.h"

#include "types.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define MEMORY 0x10000
#define PML4 0x1000
#define PDPT 0x2000
#define PD 0x3000
#define CODE 0x4000
#define SHORT_LOOP 1000
#define LONG_LOOP 21000 /* 10 us on a CPU, 20 ms and more when emulated */
#define TRIES 5
/* For all tries, and of CPU time: a busy machine must not pass for an emulating one. */
#define LIMIT_MS 40

struct vm {
	int kvm, fd, cpu;
	struct kvm_run *run;
	size_t run_size;
	u8 *memory;
};

/* dec %ecx; jnz to it; hlt */
static const u8 code[] = { 0xff, 0xc9, 0x75, 0xfc, 0xf4 };

static void fill_memory(struct vm *vm)
{
	/* Present and writable; the last also PS, a 2M page (SDM vol. 3, table 4-18). */
	const struct {
		u32 at;
		u64 entry;
	} tables[] = { { PML4, PDPT | 3 }, { PDPT, PD | 3 }, { PD, 0x83 } };
	size_t i;

	for (i = 0; i < TS_COUNT(tables); i++)
		memcpy(vm->memory + tables[i].at, &tables[i].entry, sizeof(tables[i].entry));
	memcpy(vm->memory + CODE, code, sizeof(code));
}

static int open_vm(struct vm *vm)
{
	struct kvm_userspace_memory_region region = { .memory_size = MEMORY };
	int size;

	vm->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (vm->kvm < 0)
		return -errno;
	vm->fd = ioctl(vm->kvm, KVM_CREATE_VM, 0);
	if (vm->fd < 0)
		return -errno;
	region.userspace_addr = (u64)(unsigned long)vm->memory;
	/* Three pages that VMX without unrestricted guest wants, out of the way (api.rst, 4.40). */
	ioctl(vm->fd, KVM_SET_TSS_ADDR, 0xfffbd000);
	if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region))
		return -errno;
	vm->cpu = ioctl(vm->fd, KVM_CREATE_VCPU, 0);
	size = ioctl(vm->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (vm->cpu < 0 || size < (int)sizeof(*vm->run))
		return -errno ?: -EIO;
	vm->run_size = size;
	vm->run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vm->cpu, 0);
	return vm->run == MAP_FAILED ? -errno : 0;
}

/* 64-bit mode with flat segments: CR0.PE, ET, PG; CR4.PAE; EFER.LME, LMA (SDM vol. 3, 9.8.5). */
static int enter_long_mode(struct vm *vm)
{
	const struct kvm_segment data = { .limit = 0xffffffff,
					  .selector = 16,
					  .type = 3,
					  .present = 1,
					  .s = 1,
					  .g = 1,
					  .db = 1 };
	struct kvm_segment text = data;
	struct kvm_sregs s;

	if (ioctl(vm->cpu, KVM_GET_SREGS, &s))
		return -errno;
	text.selector = 8;
	text.type = 11;
	text.db = 0;
	text.l = 1;
	s.cs = text;
	s.ds = s.es = s.fs = s.gs = s.ss = data;
	s.cr0 = 0x80000011;
	s.cr3 = PML4;
	s.cr4 = 0x20;
	s.efer = 0x500;
	return ioctl(vm->cpu, KVM_SET_SREGS, &s) ? -errno : 0;
}

/* Runs the loop; seconds until its HLT. -ETIMEDOUT when the timer ended it. */
static int run_loop(struct vm *vm, u64 turns, double *seconds)
{
	const struct kvm_regs regs = { .rip = CODE, .rcx = turns, .rflags = 2 };
	double start;

	if (ioctl(vm->cpu, KVM_SET_REGS, &regs))
		return -errno;
	start = now_seconds();
	if (ioctl(vm->cpu, KVM_RUN, 0))
		return errno == EINTR ? -ETIMEDOUT : -errno;
	*seconds = now_seconds() - start;
	return vm->run->exit_reason == KVM_EXIT_HLT ? 0 : -EIO;
}

static int time_loops(struct vm *vm, double *nanoseconds)
{
	double few = 1e9, many = 1e9, seconds;
	int i, result = 0;

	for (i = 0; i < TRIES && !result; i++) {
		result = run_loop(vm, SHORT_LOOP, &seconds);
		few = !result && seconds < few ? seconds : few;
		if (!result)
			result = run_loop(vm, LONG_LOOP, &seconds);
		many = !result && seconds < many ? seconds : many;
	}
	/* A whole try before the timer came is enough. */
	if (result == -ETIMEDOUT && many < 1e9)
		result = 0;
	*nanoseconds = (many - few) * 1e9 / (LONG_LOOP - SHORT_LOOP);
	return result;
}

static void wake(int number)
{
	(void)number; /* its only work is to end KVM_RUN */
}

static void close_vm(struct vm *vm)
{
	if (vm->run && vm->run != MAP_FAILED)
		munmap(vm->run, vm->run_size);
	if (vm->cpu >= 0)
		close(vm->cpu);
	if (vm->fd >= 0)
		close(vm->fd);
	if (vm->kvm >= 0)
		close(vm->kvm);
	munmap(vm->memory, MEMORY);
}

int kvm_time_loop(double *nanoseconds)
{
	/* The interval repeats: a signal that comes between two KVM_RUN would be lost. */
	const struct itimerval limit = { .it_value.tv_usec = LIMIT_MS * 1000,
					 .it_interval.tv_usec = 5000 }, off = { 0 };
	const struct sigaction action = { .sa_handler = wake };
	struct vm vm = { .kvm = -1, .fd = -1, .cpu = -1 };
	struct sigaction old;
	int result;

	vm.memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (vm.memory == MAP_FAILED)
		return -errno;
	fill_memory(&vm);
	result = open_vm(&vm) ?: enter_long_mode(&vm);
	if (!result) {
		sigaction(SIGPROF, &action, &old);
		setitimer(ITIMER_PROF, &limit, NULL);
		result = time_loops(&vm, nanoseconds);
		setitimer(ITIMER_PROF, &off, NULL);
		sigaction(SIGPROF, &old, NULL);
	}
	close_vm(&vm);
	return result;
}
