# SPDX-License-Identifier: GPL-2.0
#
# One makefile for everything. build/ looks like an installation, so that the program finds its
# data the same way in both: in ../share/tlbscope from its own directory.
#
#   build/bin/tlbscope       the program           build/obj/      its objects
#   build/share/tlbscope/    guest image and data  build/guest/    the image's objects
#   build/asan/              program and unit tests under sanitizers, share -> ../share
#   build/stamp/             what was built with which flags and from which files
#
# An object keeps its source's whole name (boot.S.o), so that guest/x.c and guest/x.S can coexist.
#
# V=1 shows commands. WERROR=1 makes warnings fatal (for our own tests: a newer compiler of a
# user has newer warnings).

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.PHONY: all guest static run check lab lab-all bench figures install uninstall clean distclean help FORCE

unconfigured := help clean distclean
ifneq ($(filter-out $(unconfigured),$(or $(MAKECMDGOALS),all)),)
ifeq ($(wildcard config.mk),)
$(error run ./configure first)
endif
include config.mk

# Make reads this file again when the rule has run. The three variables are among the recorded
# arguments if they were given; what make itself was called with does not count.
config.mk: configure
	@printf '%s\n' $(call quoted,configure has changed: ./configure $(CONFIGURE_ARGS))
	@CC= CFLAGS= LDFLAGS= ./configure $(CONFIGURE_ARGS)
endif

# In `make clean all`, one after the other.
ifneq ($(filter clean distclean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# A text as one word for the shell.
quoted = '$(subst ','\'',$(1))'

ifeq ($(V),1)
say = @:
Q :=
else
say = @printf '  %-7s %s\n'
Q := @
endif

# --- Sources ---------------------------------------------------------------------------------

# These run in ring 0 only: guest image and module.
ring0_sources := sweeps/core/passes.c sweeps/core/measure.c sweeps/core/counters.c

core_sources := $(wildcard sweeps/core/*.c)
# tlbscope-check, the program of its own that `make static` links: target user without the libraries.
check_main := sweeps/driver/check_main.c
check_sources := $(check_main) $(wildcard sweeps/driver/user_*.c) \
	$(addprefix sweeps/driver/,statistics.c verdict.c util.c problem.c perf_group.c) \
	$(addprefix sweeps/core/,case.c expand.c op.c text.c)
user_sources := $(filter-out $(check_main),$(wildcard sweeps/driver/*.c sweeps/model/*.c)) \
	$(filter-out $(ring0_sources),$(core_sources))
guest_sources := $(wildcard guest/*.S guest/*.c) $(core_sources)
test_sources := $(wildcard tests/unit/test_*.c)

user_objects := $(user_sources:%=build/obj/%.o)
asan_objects := $(user_sources:%=build/asan/obj/%.o)
guest_objects := $(guest_sources:%=build/guest/%.o)
tested_objects := $(filter-out %/driver/main.c.o,$(asan_objects))

program := build/bin/tlbscope
asan_program := build/asan/bin/tlbscope
guest_elf := build/guest/tlbscope-guest.elf
guest_data := build/share/tlbscope/tlbscope-guest.elf
tests := $(if $(CMOCKA_LIBS),$(test_sources:tests/unit/%.c=build/asan/tests/%))

# Data: source directory -> directory below share/tlbscope.
share := build/share/tlbscope
files = $(filter-out %~,$(wildcard $(1)))
plans := $(patsubst sweeps/plans/%,$(share)/plans/%,$(call files,sweeps/plans/*.plan))
cpus := $(patsubst sweeps/cpus/%,$(share)/cpus/%,$(call files,sweeps/cpus/*.*))
published := $(patsubst sweeps/published/%,$(share)/published/%,$(call files,sweeps/published/*.csv))
plots := $(patsubst plots/%,$(share)/plots/%,$(call files,plots/*.gp plots/*.css))
data := $(plans) $(cpus) $(published) $(plots)
manual := $(wildcard sweeps/driver/tlbscope.1)

# --- Flags -----------------------------------------------------------------------------------

warnings := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
dependencies = -MMD -MP -MF $@.d

user_flags := -std=gnu11 -O2 -g $(warnings) -Isweeps/core -D_GNU_SOURCE \
	-DTS_QEMU='"$(QEMU)"' $(LIBS_CFLAGS) $(CFLAGS)
asan_flags := $(user_flags) -O1 -fno-omit-frame-pointer $(SANITIZE)
test_flags := $(asan_flags) -Isweeps/driver $(CMOCKA_CFLAGS)

# The user's CFLAGS and LDFLAGS stay away from the image: there is no C library in it, no SSE, no
# red zone (exceptions use the same stack), and its measured loops must be the same everywhere.
guest_flags := -std=gnu11 -m64 -ffreestanding -fno-stack-protector -fno-pic -mno-red-zone \
	-mgeneral-regs-only -mcmodel=small -O2 -g -fcf-protection=none \
	-fno-asynchronous-unwind-tables -fno-tree-vectorize $(warnings) -Isweeps/core -Iguest
guest_link := -m64 -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
	-Wl,-z,noexecstack -T guest/guest.lds

# --- Goals -----------------------------------------------------------------------------------

all: $(program) guest $(data)

guest: $(guest_data)

static: build/bin/tlbscope-check

run: all
	@$(program) run $(ARGS)

bench: all
	@tests/bench.sh $(program)

lab: all
	@tests/lab/run.sh quick

lab-all: all
	@tests/lab/run.sh all

figures: all
	@plots/readme.sh $(program)

check: $(program) $(asan_program) $(tests) guest $(data)
	@CMOCKA=$(if $(CMOCKA_LIBS),yes,no) SANITIZE=$(if $(SANITIZE),yes,no) \
		TESTS=$(call quoted,$(TESTS)) tests/run-all.sh

help:
	@echo "all        the program, the guest image and their data (default), in build/"
	@echo "guest      the guest image only"
	@echo "static     tlbscope-check: target user alone, one file without dependencies"
	@echo "run        build, then: tlbscope run \$$(ARGS), e.g. make run ARGS='fracture --on tcg'"
	@echo "check      all tests, under sanitizers; TESTS=PATTERN for some of them"
	@echo "module     the host module, for the kernel headers in KDIR; module-check: W=1 and sparse"
	@echo "           module-matrix: against the headers of every suite (debootstrap, root)"
	@echo "lab        KVM with nested paging in a VM of QEMU's TCG, one boot; lab-all: everything there"
	@echo "bench      median times of the plan fracture on tcg and of a report of 100,000 rows"
	@echo "figures    make the tables and pictures of README.md anew"
	@echo "install    copy program, data and manual below the prefix; honours DESTDIR"
	@echo "uninstall  remove what install has put there"
	@echo "clean      remove build/"
	@echo "distclean  remove build/ and what configure has written (never results/)"
	@echo "help       this list"
	@echo "Variables: V=1 shows commands, WERROR=1 makes warnings fatal"

clean:
	rm -rf build

distclean: clean
	rm -f config.mk config.mk.new config.log

# --- Stamps ----------------------------------------------------------------------------------

# $(call stamp,NAME,TEXT): build/stamp/NAME holds TEXT and gets newer only when TEXT changes. What
# depends on it is rebuilt when flags change or a source disappears, which no time of a file shows.
define stamp
build/stamp/$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' $$(call quoted,$(2)) | cmp -s - $$@ || printf '%s\n' $$(call quoted,$(2)) >$$@
endef

compiler := $(CC) ($(CC_VERSION))
$(eval $(call stamp,user-flags,$$(compiler) $$(user_flags)))
$(eval $(call stamp,asan-flags,$$(compiler) $$(asan_flags)))
$(eval $(call stamp,test-flags,$$(compiler) $$(test_flags)))
$(eval $(call stamp,guest-flags,$$(compiler) $$(guest_flags)))
$(eval $(call stamp,user-link,$$(LDFLAGS) $$(user_objects) $$(LIBS)))
$(eval $(call stamp,asan-link,$$(LDFLAGS) $$(asan_objects) $$(LIBS)))
$(eval $(call stamp,test-link,$$(LDFLAGS) $$(tested_objects) $$(CMOCKA_LIBS) $$(LIBS)))
$(eval $(call stamp,guest-link,$$(guest_link) $$(guest_objects)))

# Data that is no longer in the tree must not stay in share: a change of the list starts it anew.
build/stamp/data: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call quoted,$(data)) | cmp -s - $@ || { \
		rm -rf $(share)/plans $(share)/cpus $(share)/published $(share)/plots && \
		printf '%s\n' $(call quoted,$(data)) >$@; }

# --- Program ---------------------------------------------------------------------------------

build/obj/%.o: % build/stamp/user-flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(user_flags) $(dependencies) -c -o $@ $<

$(program): $(user_objects) build/stamp/user-flags build/stamp/user-link
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(user_flags) $(LDFLAGS) -o $@ $(user_objects) $(LIBS)

build/asan/obj/%.o: % build/stamp/asan-flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(asan_flags) $(dependencies) -c -o $@ $<

$(asan_program): $(asan_objects) build/stamp/asan-flags build/stamp/asan-link
	@mkdir -p $(@D)
	@ln -sfn ../share build/asan/share
	$(say) LINK $@
	$(Q)$(CC) $(asan_flags) $(LDFLAGS) -o $@ $(asan_objects) $(LIBS)

build/bin/tlbscope-check: $(check_sources:%=build/obj/%.o) build/stamp/user-flags
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(user_flags) $(LDFLAGS) -static -o $@ $(check_sources:%=build/obj/%.o) -lm

build/asan/obj/tests/unit/%.o: tests/unit/% build/stamp/test-flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(test_flags) $(dependencies) -c -o $@ $<

build/asan/tests/%: build/asan/obj/tests/unit/%.c.o $(tested_objects) build/stamp/test-link
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(test_flags) $(LDFLAGS) -o $@ $< $(tested_objects) $(CMOCKA_LIBS) $(LIBS)

.SECONDARY:

# --- Guest image -----------------------------------------------------------------------------

build/guest/%.o: % build/stamp/guest-flags
	@mkdir -p $(@D)
	$(say) GUEST $<
	$(Q)$(CC) $(guest_flags) $(dependencies) -c -o $@ $<

$(guest_elf): $(guest_objects) guest/guest.lds build/stamp/guest-link
	$(say) GUEST $@
	$(Q)$(CC) $(guest_link) -o $@ $(guest_objects)

$(guest_data): $(guest_elf)
	@mkdir -p $(@D)
	@cp -f $< $@

# --- Data ------------------------------------------------------------------------------------

define copy
	@mkdir -p $(@D)
	@cp -f $< $@
endef

$(share)/plans/%: sweeps/plans/% build/stamp/data
	$(copy)
$(share)/cpus/%: sweeps/cpus/% build/stamp/data
	$(copy)
$(share)/published/%: sweeps/published/% build/stamp/data
	$(copy)
$(share)/plots/%: plots/% build/stamp/data
	$(copy)

# --- Installation ----------------------------------------------------------------------------

# share/tlbscope/manifest lists what was installed, below the prefix. A new version removes what
# only the old one had, and uninstall works from another tree than the one that installed.
root = $(call quoted,$(DESTDIR)$(prefix))
installed = bin/tlbscope $(patsubst build/%,%,$(wildcard build/bin/tlbscope-check)) $(guest_data:build/%=%) $(data:build/%=%) $(manual:%=share/man/man1/tlbscope.1)

define remove_installed
	while IFS= read -r file; do rm -f "$$file" || exit 1; done <share/tlbscope/manifest && \
	rm -f share/tlbscope/manifest || exit 1
endef

install: all
	@mkdir -p $(root)
	@cd $(root) && if [ -f share/tlbscope/manifest ]; then $(remove_installed); fi
	@for file in $(filter-out share/man/%,$(installed)); do \
		mode=644; case $$file in bin/*) mode=755 ;; esac; \
		mkdir -p $(root)/"$${file%/*}" && \
		install -m $$mode "build/$$file" $(root)/"$$file" || exit 1; \
	done
	@$(if $(manual),mkdir -p $(root)/share/man/man1 && \
		install -m 644 $(manual) $(root)/share/man/man1/tlbscope.1)
	@printf '%s\n' $(installed) >$(root)/share/tlbscope/manifest
	@echo "installed below $(DESTDIR)$(prefix)"

# Directories that others use too (bin, share) stay.
uninstall:
	@if cd $(root) 2>/dev/null && [ -f share/tlbscope/manifest ]; then $(remove_installed); \
		find share/tlbscope -depth -type d -exec rmdir {} \; 2>/dev/null; \
		echo "uninstalled from" $(root); \
	else echo "nothing of tlbscope is installed below" $(root); fi

# --- Dependencies found by the compiler ----------------------------------------------------------

-include $(addsuffix .d,$(user_objects) $(asan_objects) $(guest_objects) \
	$(test_sources:%=build/asan/obj/%.o))

# --- The host module -----------------------------------------------------------------------------

KDIR ?= $(KERNEL_DIR)
include host-module/module.mk
