"""What a guest runs: a script that loads its drivers, then does what the host tells it.

The host writes one line of shell at a time to the channel `taut.ctl`, and is answered by a line
with the exit status and the number of bytes that follow: what the command printed. On `taut.clock`
taut-clock answers every line with a reading of the guest's clocks. What the device's program prints
goes to `taut.log`, which is a file of the host.
"""

READY = "taut-guest: ready"
CONTROL, CLOCK, LOG = "taut.ctl", "taut.clock", "taut.log"

INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/ TERM=dumb
# DPDK loads no driver from below a folder that everybody may write to.
chmod 755 /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mkdir -p /dev/hugepages /dev/taut
mount -t hugetlbfs hugetlbfs /dev/hugepages
# Before memory is in use: later, not as many may come.
for word in $(cat /proc/cmdline); do
	case $word in taut.hugepages=*) echo "${{word#*=}}" >/proc/sys/vm/nr_hugepages ;; esac
done
for module in $(cat /modules/order); do insmod "/modules/$module"; done
for port in /sys/class/virtio-ports/*; do
	ln -s "/dev/${{port##*/}}" "/dev/taut/$(cat "$port/name")"
done
exec 3<>/dev/taut/{CONTROL}
{{ while true; do taut-clock --answer; sleep 0.1; done; }} <>/dev/taut/{CLOCK} >&0 2>/dev/null &
echo "{READY}"
while true; do
	# Nobody there yet reads as the end of the file.
	read -r line <&3 || {{
		sleep 0.05
		continue
	}}
	sh -c "$line" >/tmp/said 2>&1 </dev/null 3<&-
	status=$?
	{{
		echo "$status $(wc -c </tmp/said)"
		cat /tmp/said
	}} >&3
done
"""
