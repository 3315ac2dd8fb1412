# make demo and make test are all a newcomer needs; each sets up what it uses and says so.
NODE := node_modules/node/bin/node
VITEST := $(NODE) node_modules/vitest/vitest.mjs run
MODE ?= nftables
PACKAGES := iproute2 nftables iptables conntrack ipset procps openssl curl

.PHONY: demo test test-guest check bench setup packages

demo: setup
	MODE=$(MODE) $(NODE) examples/demo/main.ts

test: setup check
	$(VITEST)

# The tests that meet the kernel, on the kernel of another Debian release under emulation: test/guest-kernel/README.md
KERNEL ?= bookworm
test-guest: PACKAGES += qemu-system-x86 busybox-static kmod
test-guest: setup
	$(NODE) test/guest-kernel/main.ts --kernel $(KERNEL) --time-limit 10800 -- $(NODE) test/guest-kernel/kernel-tests.ts

check: node_modules/.package-lock.json
	$(NODE) node_modules/typescript/bin/tsc --noEmit
	node_modules/.bin/biome check .

bench: setup
	MODE=$(MODE) $(NODE) test/bench/main.ts

setup: node_modules/.package-lock.json packages
	@bin/precompile

node_modules/.package-lock.json: package.json package-lock.json
	@echo "Installing npm packages ..."
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Debian packages that the kernel tests and the demo call; nothing is done where all are there.
packages:
	@missing=$$(for package in $(PACKAGES); do dpkg -s $$package >/dev/null 2>&1 || echo $$package; done); \
	if [ -n "$$missing" ]; then \
	  echo "Installing Debian packages:" $$missing; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi
