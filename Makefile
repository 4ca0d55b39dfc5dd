# A thin front for meson. Two commands do everything: make demo, make check.
BUILD ?= build
PREFIX ?= /usr/local

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	sh tests/setup.sh build
	meson setup $(BUILD) --prefix=$(PREFIX)

# Builds, then shows the main job on the machine's own data.
demo: all
	sh tests/setup.sh demo
	sh tests/demo.sh $(BUILD)

# Runs every test; the last line counts them.
check:
	sh tests/setup.sh check
	sh tests/check.sh

# The tests of the jail on another kernel, with cgroup v2 alone, in an emulated machine: 10 minutes.
check-vm: all
	sh tests/setup.sh vm
	python3 -B tests/vm/vm.py $(BUILD)

# Switches each wall of the jail off and expects its tests to fail (a part of check).
check-walls:
	sh tests/setup.sh check
	[ -f build-check/build.ninja ] || meson setup build-check -Dwerror=true -Dwalls_off=true
	ninja -C build-check
	meson test -C build-check --print-errorlogs --no-rebuild --suite walls

.PHONY: check-walls

# Prints goal, limit and today's value of each speed row, beside the peers that are here.
bench: all
	sh tests/setup.sh bench
	sh tests/bench/bench.sh $(BUILD)

# Reads the program with clang-tidy, cppcheck and gcc -fanalyzer.
analyse:
	sh tests/setup.sh check
	[ -f build-analyse/build.ninja ] || meson setup build-analyse >/dev/null
	python3 -B tests/analyse.py . build-analyse

# Looks for inputs that break a reader of bytes, for FUZZ_SECONDS each.
fuzz:
	sh tests/setup.sh check
	sh tests/fuzz/run.sh

install: all
	meson configure $(BUILD) -Dprefix=$(PREFIX)
	ninja -C $(BUILD) install

# Rewrites what is generated from the option tables and committed.
regen: all
	ninja -C $(BUILD) regen

clean:
	rm -rf $(BUILD) build-asan build-fuzz build-analyse

.PHONY: all demo check check-vm bench analyse fuzz install regen clean
