#!/bin/sh
# Bring a Debian 12 machine from "can clone and call make" to "can build, measure and test".
#
#   devtools/setup.sh         what building and measuring need
#   devtools/setup.sh test    also the test runner, a browser, the servers and packages of the engines
#   devtools/setup.sh lint    also the linters
#   devtools/setup.sh fuzz    also the compiler that has libFuzzer
#   devtools/setup.sh bench   also the peers taut is measured beside
#   devtools/setup.sh packages  also what packages and the image are made with, and tested
#   devtools/setup.sh guest   also QEMU, and what the file system of its guest is made of
#   devtools/setup.sh docs    also what builds the documents' site
#   devtools/setup.sh devices also the devices under test that Debian has, but none of their services
#
# Installs only what is missing, so a second run costs a fraction of a second. Python packages
# come from requirements.lock, from requirements-dev.lock where tests run or code is judged, and from
# requirements-docs.lock where the site of the documents is built,
# every file checked against its hash, into .venv of this clone. apt, pip and uv run with whatever
# mirrors, proxies and certificates this machine is set to.
set -eu
cd "$(dirname "$0")/.."
# What root makes is for everybody, whatever the mask of a hardened host.
umask 022

# libdpdk-dev: headers and libraries; dpdk-dev: testpmd; dpdk-doc: the source of l2fwd.
packages="build-essential meson ninja-build pkg-config libdpdk-dev dpdk-dev dpdk-doc
	libcmocka-dev zlib1g-dev libzstd-dev iproute2 kmod procps python3 python3-venv util-linux"
lock=requirements-dev.lock
case ${1:-} in
# Servers the tests start for the engines postgres and spark, a browser that looks at reports, nft: the
# kernel's firewall judges beside ours, stress-ng, which neighbours are made of, and runc, which makes
# containers; prometheus has promtool, which tries the queries of a dashboard.
test) packages="$packages postgresql default-jre-headless chromium-headless-shell nftables stress-ng runc prometheus" ;;
lint) packages="$packages clang-format clang-tidy" ;;
fuzz) packages="$packages clang libclang-rt-14-dev" lock=requirements.lock ;;
bench) packages="$packages rt-tests libpcap-dev postgresql default-jre-headless" ;;
# Guests run Debian's kernels, which the test fetches itself and does not install; e2fsprogs and
# systemd: one has a disk, and boots as a server does. Placement vm needs a newer QEMU than Debian
# 12 has: 7.2 crashes where the other end of a vhost-user port leaves.
guest) packages="$packages qemu-system-x86 busybox-static cpio e2fsprogs systemd" newer_qemu=8 ;;
docs) lock=requirements-docs.lock ;;
# mmdebstrap and umoci make the image, without a daemon.
packages)
	packages="$packages debhelper dpkg-dev lintian autopkgtest mmdebstrap umoci"
	lock=requirements.lock
	;;
# Nobody needs them: what cannot be installed is missing in `taut doctor`, and its tests are skipped.
devices) wanted="openvswitch-switch-dpdk" wanted_backports="suricata" lock=requirements.lock ;;
"") lock=requirements.lock ;;
*)
	echo "setup: $1 is none of test, lint, fuzz, bench, packages, guest, docs, devices" >&2
	exit 2
	;;
esac

say() { echo "setup: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

# Run a command quietly; show what it said only if it fails.
quietly() {
	log=$(mktemp)
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

missing_packages() {
	for package in "$@"; do
		case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
		*" ok installed") ;;
		*) printf ' %s' "$package" ;;
		esac
	done
}

apt_install() {
	DEBIAN_FRONTEND=noninteractive quietly apt-get install -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 "$@"
}

install_packages() {
	missing=$(missing_packages $packages)
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || fail "missing packages; as root: apt-get install$missing"
	say "installing$missing"
	# Lists may be absent (a fresh image) or old (files gone from the mirror): refresh once.
	if ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 || ! (apt_install $missing) 2>/dev/null; then
		quietly apt-get update || fail "apt-get update failed; check the machine's apt sources"
		apt_install $missing || fail "apt-get could not install$missing"
	fi
}

# Run a command while no package may start a service, whatever its scripts want.
without_services() {
	policy=/usr/sbin/policy-rc.d
	[ ! -e $policy ] || policy=""
	if [ -n "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod +x $policy
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		trap 'exit 130' INT TERM
	fi
	done=0
	"$@" || done=$?
	[ -z "$policy" ] || rm -f $policy
	return $done
}

# Install from backports, whose lists are fetched alone; the machine's own sources stay as they are.
backports_install() {
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		awk -v suite="$suite" '$2 == suite { print $1; exit }')
	sources=$(mktemp -d)
	chmod 755 "$sources"
	printf 'deb [signed-by=%s] %s %s main\n' /usr/share/keyrings/debian-archive-keyring.gpg \
		"$mirror" "$suite-backports" >"$sources/backports.list"
	if apt-get indextargets --format '$(RELEASE)' | grep -qx "$suite-backports"; then
		rm "$sources/backports.list"
	else
		quietly apt-get update -o Dir::Etc::SourceList=/dev/null \
			-o Dir::Etc::SourceParts="$sources" -o APT::Get::List-Cleanup=0
	fi
	for file in /etc/apt/sources.list.d/*; do
		[ ! -e "$file" ] || ln -s "$file" "$sources"
	done
	done=0
	apt_install -o Dir::Etc::SourceParts="$sources" -t "$suite-backports" "$@" || done=$?
	rm -rf "$sources"
	return $done
}

# An older QEMU boots guests as well, but places no device in one: `taut doctor` says so.
install_newer_qemu() {
	version=$(dpkg-query -W -f='${Version}' qemu-system-x86)
	! dpkg --compare-versions "${version#*:}" ge "$newer_qemu" || return 0
	if [ "$(id -u)" != 0 ]; then
		say "going on with QEMU $version: installing needs root"
		return 0
	fi
	say "installing qemu-system-x86 from backports"
	backports_install qemu-system-x86 || say "going on with QEMU $version: no placement vm"
}

# Services of devices that this machine does not have: one that it has is somebody's.
absent_services() {
	for service in openvswitch-switch suricata; do
		case $(systemctl is-enabled $service 2>/dev/null || :) in
		"" | not-found) printf ' %s' $service ;;
		esac
	done
}

# Devices that are there already, or that this machine cannot have, cost nothing.
install_devices() {
	absent=$(absent_services)
	for how in apt_install backports_install; do
		[ $how = apt_install ] && all=$wanted || all=$wanted_backports
		missing=$(missing_packages $all)
		[ -n "$missing" ] || continue
		if [ "$(id -u)" != 0 ]; then
			say "going on without$missing: installing needs root"
			continue
		fi
		say "installing$missing"
		without_services $how $missing || say "going on without$missing"
		# taut starts its own; a service would start with the machine and poll beside it.
		[ -z "$absent" ] || ! command -v systemctl >/dev/null ||
			quietly systemctl disable $absent || :
	done
}

# pip only brings uv; uv brings the rest. Both check every file against a hash.
install_python() {
	# A line for each lock that is installed, as all of them were then.
	stamp=.venv/.taut-setup
	sum=$(cat requirements*.lock devtools/uv.lock.txt pyproject.toml | sha256sum)
	! grep -qsFx "$lock $sum" $stamp || return 0

	if [ ! -x .venv/bin/python ]; then
		say "creating .venv"
		/usr/bin/python3 -m venv .venv || fail "python3 -m venv failed; install python3-venv"
	fi
	.venv/bin/python -m pip --version >/dev/null 2>&1 || quietly .venv/bin/python -m ensurepip ||
		fail "no pip for .venv; remove .venv and run again"
	say "installing Python packages"
	quietly .venv/bin/python -m pip install --require-hashes -r devtools/uv.lock.txt ||
		fail "pip could not install uv; is a package index reachable?"
	# Like apt and pip, uv trusts whom this machine trusts: behind some proxies that is needed.
	export UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_SYSTEM_CERTS=true
	# Compiled once, here: where Python may not write, each start would compile them all again.
	quietly .venv/bin/uv pip install --compile-bytecode -p .venv/bin/python --require-hashes -r $lock ||
		fail "uv could not install $lock; is a package index reachable?"
	quietly .venv/bin/uv pip install -p .venv/bin/python --no-deps --no-build-isolation -e . ||
		fail "uv could not install taut into .venv"
	# uv keeps what it made of a source package (Spark: 1.4 GB) though no entry names it any more.
	quietly .venv/bin/uv cache prune || say "uv's cache was not pruned: it may grow"
	{ grep -sF "$sum" $stamp || :; echo "$lock $sum"; } >$stamp.new
	mv $stamp.new $stamp
}

# Every report has this script in it; to make it takes seconds: once for a set of packages.
prepare_script() {
	[ .venv/share/taut/vega.js -nt .venv/.taut-setup ] ||
		quietly .venv/bin/python -m taut.report.chart ||
		say "no script for reports was prepared: each makes its own"
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
	install_packages
	[ "${1:-}" != devices ] || install_devices
	[ "${1:-}" != guest ] || install_newer_qemu
else
	say "not Debian: taking for granted what these packages hold:" $packages
fi
install_python
prepare_script
# DPDK's own l2fwd is one of the devices under test, not a need: without it taut still works.
devtools/build_example l2fwd || say "going on without l2fwd"
