import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const src = resolve(import.meta.dirname, '../src');

/** What each folder may import besides itself, and why; the most specific folder counts. See docs/ARCHITECTURE.md. */
const layers: Readonly<Record<string, { readonly allow: readonly string[]; readonly because: string }>> = {
  base: { allow: [], because: 'base is the floor' },
  kube: { allow: ['base'], because: 'kube is the language that sources and the model share' },
  'kernel/native': { allow: ['base'], because: 'the syscall shim has no logic' },
  'kernel/netlink': { allow: ['base', 'kernel/native'], because: 'netlink knows nothing about its families' },
  'kernel/nftables': {
    allow: ['base', 'kernel/netlink', 'kernel/native/errno.ts'],
    because: 'kernel knows nothing about Kubernetes',
  },
  'kernel/conntrack': {
    allow: ['base', 'kernel/netlink', 'kernel/native/errno.ts'],
    because: 'kernel knows nothing about Kubernetes',
  },
  'kernel/route': {
    allow: ['base', 'kernel/netlink', 'kernel/native/errno.ts'],
    because: 'kernel knows nothing about Kubernetes',
  },
  'kernel/iptables': { allow: ['base'], because: 'kernel knows nothing about Kubernetes' },
  'kernel/sysctl': { allow: ['base'], because: 'kernel knows nothing about Kubernetes' },
  'kernel/ipset': { allow: ['base', 'kernel/netlink'], because: 'kernel knows nothing about Kubernetes' },
  'kernel/nfacct': { allow: ['base', 'kernel/netlink'], because: 'kernel knows nothing about Kubernetes' },
  source: { allow: ['base', 'kube'], because: 'a source knows objects, not what they are for' },
  model: {
    allow: ['base', 'kube'],
    because: 'the model is pure: it must run without Linux or an API server',
  },
  plan: { allow: ['base', 'model'], because: 'plan is pure: it must run without Linux or an API server' },
  dataplane: {
    allow: ['base', 'model', 'plan', 'kernel'],
    because: 'a mode programs a plan and sees no API object',
  },
  'dataplane/conntrack': { allow: ['base', 'model', 'plan', 'kernel'], because: 'shared by the modes' },
  'dataplane/nftables': {
    allow: ['base', 'model', 'plan', 'kernel', 'dataplane/proxier.ts'],
    because: 'modes never import each other',
  },
  'dataplane/iptables': {
    allow: ['base', 'model', 'plan', 'kernel', 'dataplane/proxier.ts'],
    because: 'modes never import each other',
  },
  sync: {
    allow: ['base', 'kube', 'model', 'plan', 'dataplane/proxier.ts'],
    because: 'sync sees the Proxier interface, not a mode',
  },
  health: { allow: ['base'], because: 'health is a leaf' },
  metrics: { allow: ['base'], because: 'metrics is a leaf' },
  config: { allow: ['base'], because: 'config is pure and a leaf' },
  logging: { allow: ['base'], because: 'logging is a leaf' },
};

/** Folders that may import everything: they put the parts together. */
const composition = ['app', 'cli', 'main.ts'];

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

function layerOf(file: string): string | undefined {
  return Object.keys(layers)
    .filter((layer) => file === layer || file.startsWith(`${layer}/`))
    .sort((a, b) => b.length - a.length)[0];
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map((match) => match[1]!);
  return specifiers.map((specifier) => relative(src, resolve(src, dirname(file), specifier)));
}

test('every source file belongs to a layer', () => {
  const lost = files.filter(
    (file) => layerOf(file) === undefined && !composition.some((part) => file.startsWith(part)),
  );
  expect(lost).toEqual([]);
});

test('imports go one way', () => {
  const violations: string[] = [];
  for (const file of files) {
    const layer = layerOf(file);
    if (layer === undefined) continue;
    const { allow, because } = layers[layer]!;
    const isTest = file.endsWith('.test.ts') || file.includes('/testing/');
    for (const target of importsOf(file)) {
      const inside = target.startsWith(`${layer}/`) && (layerOf(target) === layer || layer === 'dataplane');
      const allowed = allow.some((prefix) => target === prefix || target.startsWith(`${prefix}/`));
      // Tests may build their input with API objects, and with the test tools of other layers.
      const testTool = isTest && (target.includes('testing/') || target.startsWith('kube/'));
      if (!inside && !allowed && !testTool && !target.startsWith('../'))
        violations.push(`${file} imports ${target}: ${because}`);
      if (!isTest && target.includes('/testing/'))
        violations.push(`${file} imports ${target}: the program runs without its test tools`);
    }
  }
  expect(violations).toEqual([]);
});

test('source files stay readable in one go', () => {
  const long = files.filter(
    (file) => !file.endsWith('.test.ts') && readFileSync(join(src, file), 'utf8').split('\n').length > 500,
  );
  expect(long).toEqual([]);
});

test('the rules name folders that exist', () => {
  const known = new Set(files.map((file) => dirname(file)));
  const missing = Object.keys(layers).filter(
    (layer) => ![...known].some((folder) => folder === layer || folder.startsWith(`${layer}/`)),
  );
  expect(missing).toEqual([]);
});
