# SPDX-License-Identifier: GPL-2.0
#
# The host module, apart from all else: needs kernel headers, not ./configure. The top Makefile
# includes this file; `make -f host-module/module.mk module` does without it.
#
#   KDIR=DIR         headers to build against (those of the running kernel)
#   MODULE_OUT=DIR   where (build/module)
#
# Kbuild puts its objects beside the sources; so it is given a directory of links.

MODULE_OUT ?= build/module
module_kdir = $(or $(KDIR),/lib/modules/$(shell uname -r)/build)
module_here := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
module_files := $(wildcard $(module_here)/*.[ch] $(module_here)/../sweeps/core/*.[ch]) \
	$(module_here)/Kbuild

.PHONY: module module-check module-matrix module-dkms module-links

module-links:
	@mkdir -p $(MODULE_OUT)
	@find $(MODULE_OUT) -maxdepth 1 -type l -delete
	@ln -s $(abspath $(module_files)) $(MODULE_OUT)/

module: module-links
	@[ -e "$(module_kdir)/Makefile" ] || { echo "no kernel headers in $(module_kdir);" \
		"of a distribution's kernel install linux-headers-$$(uname -r), of one built by hand name" \
		"its build directory: KDIR=DIR" >&2; exit 1; }
	$(MAKE) -C $(module_kdir) M=$(abspath $(MODULE_OUT)) modules

# Warnings of level 1 and sparse over our files; nothing may be said. The core has no header that
# defines NULL.
module-check: module-links
	@find $(MODULE_OUT) -name '*.o' -delete
	@$(MAKE) -C $(module_kdir) M=$(abspath $(MODULE_OUT)) W=1 C=2 CF=-Wno-non-pointer-null modules \
		>$(MODULE_OUT)/check.log 2>&1 || { cat $(MODULE_OUT)/check.log; exit 1; }
	@! grep -E '(warning|error):' $(MODULE_OUT)/check.log

module-matrix:
	@$(module_here)/matrix.sh

# The sources of the module alone, as dkms wants them.
module_version = $(shell sed -n 's/.*TS_VERSION "\(.*\)"/\1/p' \
	$(module_here)/../sweeps/core/version.h)
module_dkms = $(DESTDIR)/usr/src/tlbscope-$(module_version)

module-dkms:
	@mkdir -p $(module_dkms)/host-module $(module_dkms)/sweeps/core
	@cp $(addprefix $(module_here)/,*.[ch] Kbuild module.mk) $(module_dkms)/host-module/
	@cp $(module_here)/../sweeps/core/*.[ch] $(module_dkms)/sweeps/core/
	@sed 's/@VERSION@/$(module_version)/' $(module_here)/dkms.conf >$(module_dkms)/dkms.conf
	@echo "dkms install tlbscope/$(module_version) does the rest"
