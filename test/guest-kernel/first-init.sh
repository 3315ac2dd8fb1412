#!/bin/busybox sh
# The first program of the guest. It shows the host's files as the guest's root, with changes kept in memory, and goes
# on there with second-init.sh. Should it fail, the kernel panics and the machine ends. guest.ts sets the variables.
set -e
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs devtmpfs /dev
while read -r module; do insmod "/modules/$module"; done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host
mount -t tmpfs -o size=75% memory /memory
mkdir /memory/changes /memory/work
mount -t overlay -o lowerdir=/host,upperdir=/memory/changes,workdir=/memory/work overlay /root
# Over the share each look for a file is a question to the host. The repository's thousands of small files are read from
# memory; its program and this folder's cache stay on the share.
mkdir /memory/repository
tar -x -f "/host$FAIRLEAD_RUN/repository.tar" -C /memory/repository
mount --bind /memory/repository "/root$FAIRLEAD_REPOSITORY"
for shared in .cache/guest-kernel node_modules/node; do
  mkdir -p "/memory/repository/$shared"
  mount --bind "/host$FAIRLEAD_REPOSITORY/$shared" "/root$FAIRLEAD_REPOSITORY/$shared"
done
umount /proc
umount /dev
exec switch_root /root "$FAIRLEAD_REPOSITORY/test/guest-kernel/second-init.sh"
