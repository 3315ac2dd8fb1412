#!/bin/sh
# Process 1 of the guest on the host's files: makes it a Linux system, runs the command, tells its exit status and ends
# the machine. guest.ts sets the variables; what is printed to the standard output before the command is kernel log.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mkdir /run/netns /run/tmp
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/run/tmp

mkdir -p /lib/modules
ln -s "$FAIRLEAD_MODULES" "/lib/modules/$(uname -r)"
# Emulation translates each page of a program anew when its address changes: starting one takes a fifth without.
echo 0 >/proc/sys/kernel/randomize_va_space
# Namespaces come and go all the time, and each waits for grace periods.
echo 1 >/sys/kernel/rcu_expedited
hostname guest
ip link set lo up
# Most modules come when something asks for them. These do not come for iptables-nft, which then fails as a whole.
modprobe -aq nft_compat ipt_REJECT ip6t_REJECT

# The device of a channel to the host.
channel() {
  for port in /sys/class/virtio-ports/*; do
    if [ "$(cat "$port/name")" = "$1" ]; then echo "/dev/$(basename "$port")"; fi
  done
}
status_channel=$(channel status)
cd "$FAIRLEAD_REPOSITORY"
setsid sh "$FAIRLEAD_RUN/command.sh" </dev/null >"$(channel output)" 2>&1
echo $? >"$status_channel"
echo o >/proc/sysrq-trigger
sleep 60
