// SPDX-License-Identifier: GPL-2.0
/*
 * Remedies. A text is one line that begins with what to do; a command is the same for the shell,
 * where one command does it. What is set with sudo tee lasts until the next boot.
 */
#include "probe.h"

#include "types.h"

#define THP "/sys/kernel/mm/transparent_hugepage"

const struct remedy remedies[] = {
	{ "any.read", "make it readable: run as root, and with /proc and /sys mounted", 0 },
	{ "any.report", "report it, with what tlbscope doctor --record DIR writes", 0 },
	{ "any.kvm-first", "see to kvm first", 0 },
	{ "any.modules-first", "see to module-support first", 0 },
	{ "any.module-sources",
	  "make it where tlbscope's sources are: ./configure, make module (needs the kernel's headers), then as root: "
	  "insmod build/module/tlbscope.ko",
	  0 },

	{ "cpu-file.add",
	  "nothing has to be done: sizes are then found by measuring; keep --leaves at 32 or "
	  "fewer, which fits any first-level TLB",
	  0 },
	{ "cpu-file.mend", "mend the file, or reinstall tlbscope", 0 },
	{ "hybrid.pin", "keep to the performance cores: begin commands with taskset -c @",
	  "taskset -c @ tlbscope run" },
	{ "bare-metal.move", "run on a physical machine; in a VM the true host page cannot be seen",
	  0 },
	{ "bare-metal.emulator", "run on a real CPU: an emulator's TLB and cycles are its own", 0 },
	{ "tsc.other", "trust refills only, not cycles; a CPU with an invariant TSC gives both",
	  0 },
	{ "tsc.kernel",
	  "see why the kernel has given up the TSC: dmesg | grep -i tsc; until then trust "
	  "refills only, not cycles",
	  "dmesg | grep -i tsc" },
	{ "smt.off", "switch the second threads off while measuring, or leave them idle",
	  "echo off | sudo tee /sys/devices/system/cpu/smt/control" },
	{ "isolated-cpus.boot",
	  "for the least noise boot with isolcpus=N and use taskset -c N; repeats do without", 0 },
	{ "governor.performance", "hold the frequency: governor performance",
	  "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor" },
	{ "governor.host", "set governor performance on the host above, if it is yours", 0 },
	{ "pti.boot",
	  "for plain numbers of target module boot a test machine with pti=off; target kvm is "
	  "not touched by it",
	  0 },
	{ "syscall-flush.pcid",
	  "measure on a CPU or VM type with PCID", 0 },
	{ "syscall-flush.invpcid",
	  "measure on a CPU or VM type with INVPCID", 0 },

	{ "kvm.permission",
	  "add your user to the group of /dev/kvm and log in again, or run as root",
	  "sudo usermod -aG kvm \"$USER\"" },
	{ "kvm.load",
	  "load it: modprobe @; if that fails, switch on virtualization in the firmware",
	  "sudo modprobe @" },
	{ "kvm.device",
	  "KVM is there, its device is not: start a container with --device /dev/kvm; elsewhere"
	  " dmesg | grep -i kvm says why",
	  0 },
	{ "kvm.nested",
	  "switch on nested virtualization on the host above (its kvm_intel or kvm_amd with "
	  "nested=1, and -cpu host), or use --on user",
	  0 },
	{ "kvm.firmware",
	  "switch on virtualization (VT-x, AMD-V, SVM) in the firmware, then modprobe kvm_intel"
	  " or kvm_amd; or use --on user",
	  0 },
	{ "kvm-native.move",
	  "run on a host whose KVM uses the CPU; here every ring-0 instruction of a guest is "
	  "emulated; or use --on user",
	  0 },
	{ "nested-paging.ept", "load KVM with it, when no VM runs",
	  "sudo modprobe -r kvm_intel && sudo modprobe kvm_intel ept=1" },
	{ "nested-paging.npt", "load KVM with it, when no VM runs",
	  "sudo modprobe -r kvm_amd && sudo modprobe kvm_amd npt=1" },
	{ "nested-paging.firmware",
	  "move to a CPU that has it (Intel since 2008, AMD since 2007); nested=1 and -cpu host"
	  " on the host above if this is a VM",
	  0 },
	{ "nx-huge-pages.off",
	  "only for cases with code in the window, and only where all guests are trusted "
	  "(CVE-2018-12207)",
	  "echo N | sudo tee /sys/module/kvm/parameters/nx_huge_pages" },

	{ "memory.free", "free some memory, or measure fewer --leaves", 0 },
	{ "pool-2m.reserve",
	  "reserve some, or run as root: tlbscope then enlarges the pool and puts it back",
	  "echo 160 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" },
	{ "pool-2m.root",
	  "nothing has to be done: as root tlbscope enlarges the pool for a run and puts it back",
	  0 },
	{ "pool-2m.kernel", "use a kernel with CONFIG_HUGETLBFS; without, THP serves for 2M", 0 },
	{ "pool-1g.reserve",
	  "reserve them early, before memory is in pieces; at boot: hugepagesz=1G hugepages=4",
	  "echo 4 | sudo tee /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages" },
	{ "pool-1g.cpu", "leave out host pages of 1G: this CPU or kernel has none", 0 },
	{ "thp.on", "let programs ask for them", "echo madvise | sudo tee " THP "/enabled" },
	{ "thp.kernel", "use a kernel with CONFIG_TRANSPARENT_HUGEPAGE, or the 2M pool", 0 },
	{ "mthp.off", "switch them off for clean 4K pages: AMD caches adjacent ones together",
	  "echo never | sudo tee " THP "/hugepages-@kB/enabled" },

	{ "pmu.host",
	  "give this VM one: on the host above kvm.enable_pmu=Y and -cpu host,pmu=on; in a "
	  "cloud take a metal type; refills and cycles need none",
	  0 },
	{ "pmu.kernel",
	  "look for why in dmesg (firmware may own the counters); refills and cycles need none",
	  "dmesg | grep -i pmu" },
	{ "vpmu.on", "load KVM with enable_pmu=1, when no VM runs", 0 },
	{ "perf-paranoid.lower", "allow it, or run as root",
	  "sudo sysctl kernel.perf_event_paranoid=1" },
	{ "nmi-watchdog.off", "stop it while counting", "sudo sysctl kernel.nmi_watchdog=0" },
	{ "tracefs.mount", "mount it", "sudo mount -t tracefs nodev /sys/kernel/tracing" },
	{ "tracefs.root", "run as root to use it", 0 },
	{ "tracefs.kernel",
	  "use a kernel with CONFIG_FTRACE; only target user asks for it, and does without", 0 },
	{ "ceiling.mount", "mount debugfs", "sudo mount -t debugfs nodev /sys/kernel/debug" },
	{ "ceiling.locked",
	  "nothing to be done: this kernel keeps debugfs shut; Linux' standard of 33 is assumed",
	  0 },
	{ "ceiling.root", "run as root to read it; Linux' standard of 33 is assumed", 0 },

	{ "module.permission",
	  "run as root: the device is root's alone, since it loads page tables of its own", 0 },
	{ "module.node",
	  "mount devtmpfs on /dev, or make the node (misc device, minor in /proc/misc)", 0 },
	{ "module.load", "load it, as root", "sudo insmod build/module/tlbscope.ko" },
	{ "module.make", "make module, then as root: insmod build/module/tlbscope.ko",
	  "make module" },
	{ "module.headers",
	  "install linux-headers-@; make module, then as root: insmod build/module/tlbscope.ko",
	  "sudo apt-get install linux-headers-@" },
	{ "module.sign",
	  "make module and sign it (module-signing.rst: scripts/sign-file; mokutil --import): "
	  "this kernel takes signed modules only",
	  0 },
	{ "module.reboot",
	  "reboot: this kernel loads no module until then (kernel.modules_disabled)", 0 },
	{ "module.kernel", "use a kernel with loadable modules (CONFIG_MODULES)", 0 },
	{ "module-built.make", "compile it", "make module" },
	{ "module-built.other",
	  "compile it anew: a kernel loads modules of its own release only", "make module" },
	{ "module-headers.install", "install the headers of the running kernel",
	  "sudo apt-get install linux-headers-@" },
	{ "module-headers.kernel",
	  "no package has the headers of a kernel that was built by hand: make module KDIR=DIR, "
	  "with its build directory",
	  0 },
	{ "lockdown.mount", "mount it, to see", "sudo mount -t securityfs nodev /sys/kernel/security" },
	{ "lockdown.sign",
	  "sign the module with a key that the firmware knows (module-signing.rst; mokutil "
	  "--import), or boot with lockdown=none where Secure Boot is off",
	  0 },
	{ "secure-boot.sign",
	  "sign the module and enrol the key with mokutil --import, or switch Secure Boot off "
	  "in the firmware",
	  0 },

	{ "qemu.install", "install qemu-system-x86 (7.2 or newer), or name one with --qemu PATH",
	  "sudo apt-get install qemu-system-x86" },
	{ "guest-image.make", "--image: make guest builds it, --image PATH names another",
	  "make guest" },
	{ "gnuplot.install", "install gnuplot-nox; without it there are no pictures",
	  "sudo apt-get install gnuplot-nox" },
	{ "build-tools.install", "install them", "sudo apt-get install gcc make" },
};
const size_t remedy_count = TS_COUNT(remedies);
