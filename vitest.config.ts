import { defineConfig } from 'vitest/config';
import { patient } from './test/netns/patience.ts';

// Three projects: `unit` runs anywhere; `cluster` runs against the stand-in API server; `netns` needs root and
// a Linux kernel with nftables, and runs one file at a time because each file builds its own network namespaces.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'test/*.test.ts',
            'test/guest-kernel/*.test.ts',
            'examples/**/*.test.ts',
          ],
          exclude: ['src/**/*.netns.test.ts'],
          testTimeout: 20_000,
        },
      },
      { test: { name: 'cluster', include: ['test/cluster/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'netns',
          include: ['test/netns/**/*.test.ts', 'src/**/*.netns.test.ts'],
          testTimeout: patient(120_000),
          hookTimeout: patient(120_000),
          fileParallelism: false,
        },
      },
    ],
  },
});
