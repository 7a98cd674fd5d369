# The only front door. A bare Debian 12 needs git, make and ca-certificates to come here;
# `make setup` brings the rest. Everything a target leaves behind stands in .gitignore, except
# DPDK's l2fwd, which setup builds in ~/.cache/taut.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv/bin
BUILD := build
SANITIZE := build-sanitize
# Of each target, all at the same time.
FUZZ_SECONDS ?= 60
# 0: another one each time.
FUZZ_SEED ?= 0
# PYTEST_ARGS="-k histogram" narrows `make test` and `make smoke`.
PYTEST_ARGS ?=

.PHONY: help setup build demo test test-all units lint tidy smoke sanitize fuzz guest bench \
	docs gallery html man packages packages-test l2fwd clean

help: ## say what can be made
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## install what building and measuring need: Debian packages (as root), .venv, l2fwd
	@devtools/setup.sh

build: setup ## compile the data plane; leave bin/taut and the binaries usable
	@devtools/build $(BUILD) --buildtype=release
	@devtools/make_bin $(BUILD)

demo: build ## measure a Linux bridge and DPDK forwarders, as found and trimmed (under 3 minutes after set-up)
	@bin/taut run examples/demo.toml --images

# The Python tests come last: their last line is the verdict.
test: units ## C units, also under sanitizers, Python, seam, smoke, acceptance (10 minutes)
	@devtools/setup.sh test
	@devtools/setup.sh devices
	@devtools/test $(PYTEST_ARGS)

test-all: units ## test, and all that takes longer: stage long, fuzz, guest (45 minutes)
	@devtools/setup.sh test
	@devtools/setup.sh devices
	@devtools/setup.sh fuzz
	@devtools/setup.sh guest
	@devtools/test --all $(PYTEST_ARGS)
	@$(MAKE) fuzz
	@$(MAKE) guest

smoke: build ## forwarder and generator over virtual ports, in under a minute
	@devtools/setup.sh test
	@$(VENV)/pytest tests/smoke/test_forward*.py tests/smoke/test_generate.py $(PYTEST_ARGS)

# Leaks are not looked for: EAL keeps its memory until the process ends.
units: build sanitize ## C unit tests, as released and under the sanitizers
	@ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 devtools/meson_test $(BUILD) $(SANITIZE)

sanitize: setup ## compile the data plane with the address and undefined-behaviour sanitizers
	@devtools/build $(SANITIZE) --buildtype=debug -Db_sanitize=address,undefined -Db_lundef=false

fuzz: setup ## libFuzzer over readers, matcher, trace pages, network functions (FUZZ_SECONDS, 60)
	@devtools/setup.sh fuzz
	@devtools/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)

lint: build ## every rule a tool can check
	@devtools/setup.sh lint
	@devtools/lint $(BUILD)

tidy: build ## clang-tidy over the data plane (a minute or two)
	@devtools/setup.sh lint
	@devtools/tidy $(BUILD)

# An emulated guest keeps one core busy, hardly two: two at a time, in the order of the files. Then by
# themselves those that are disturbed and traced and those in which a device polls (`alone`): beside
# another guest their virtual CPUs are away for most of the time.
GUEST_TESTS = $(VENV)/pytest tests/acceptance $(PYTEST_ARGS)
# What narrows them may leave none of either kind.
OR_NONE = $(if $(PYTEST_ARGS),|| [ $$? = 5 ])
guest: build ## boot Debian's kernels in QEMU: parameters in force, traces explained
	@devtools/setup.sh guest
	@$(GUEST_TESTS) -m "guest and not alone" --numprocesses $$(($$(nproc) > 1 ? 2 : 1)) \
		--dist loadscope --no-loadscope-reorder $(OR_NONE)
	@$(GUEST_TESTS) -m "guest and alone" $(OR_NONE)

bench: build ## the speed figures of docs/benchmarks.md (wants a quiet machine; three quarters of an hour)
	@devtools/setup.sh bench
	@$(VENV)/python bench/forwarder.py
	@$(VENV)/python bench/generator.py
	@$(VENV)/python bench/captures.py
	@$(VENV)/python bench/noise.py
	@$(VENV)/python bench/tracing.py

docs: build ## write docs/reference.md from the binaries and the Python tables
	@$(VENV)/python devtools/reference.py

html: build ## the documents as a site that opens offline: build-html/html/index.html
	@devtools/setup.sh docs
	@$(VENV)/python devtools/documents.py html

gallery: build ## a short run of each example, for `make html` (root; a quarter of an hour)
	@devtools/gallery

man: build ## a man page for each command: build-html/man
	@devtools/setup.sh docs
	@$(VENV)/python devtools/documents.py man

packages: build ## taut to install, in build-packages/: wheel, Debian packages, bill of materials, image
	@devtools/setup.sh docs
	@devtools/setup.sh packages
	@devtools/packages

packages-test: build ## as root: install, use, upgrade and remove them in a bare Debian (after make packages)
	@devtools/setup.sh packages
	@devtools/packages_test

l2fwd: setup ## DPDK's own l2fwd, built outside the tree (part of setup)
	@devtools/build_example l2fwd

clean: ## remove what was built; .venv and ~/.cache/taut stay
	@rm -rf $(BUILD) $(SANITIZE) build-fuzz build-clang build-python build-html build-gallery build-packages bin .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
