#!/bin/busybox sh
# The first program of a virtual machine: mounts its disk and hands over to the program that the kernel's `init=` names.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
# In the order of what they need, of which each kernel has built in some.
modules="crc16 crc32c_generic libcrc32c mbcache jbd2 ext4 virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk"
for module in $modules; do
    [ ! -e "/modules/$module.ko" ] || insmod "/modules/$module.ko"
done
tries=0
until [ -b /dev/vda ] || [ $tries -gt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
mount -t ext4 /dev/vda /root || { echo "no disk: $(ls /dev)"; poweroff -f; }
init=$(sed 's/.*init=\([^ ]*\).*/\1/' /proc/cmdline)
umount /proc
exec switch_root /root "$init"
