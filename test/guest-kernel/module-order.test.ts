import { expect, test } from 'vitest';
import { moduleOrder } from './module-order.ts';

const DEP = `kernel/net/9p/9pnet.ko:
kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio_ring.ko:
kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko
kernel/drivers/other-driver.ko:
`;

test('what a module needs comes before it, and once', () => {
  expect(moduleOrder(['9pnet_virtio', '9p'], DEP, '')).toEqual([
    'kernel/net/9p/9pnet.ko',
    'kernel/drivers/virtio/virtio_ring.ko',
    'kernel/drivers/virtio/virtio.ko',
    'kernel/net/9p/9pnet_virtio.ko',
    'kernel/fs/9p/9p.ko',
  ]);
  expect(moduleOrder(['other_driver'], DEP, '')).toEqual(['kernel/drivers/other-driver.ko']);
});

test('built-in modules are not loaded, unknown ones are an error', () => {
  expect(moduleOrder(['overlay'], DEP, 'kernel/fs/overlayfs/overlay.ko\n')).toEqual([]);
  expect(() => moduleOrder(['overlay'], DEP, '')).toThrow('no module overlay');
});
