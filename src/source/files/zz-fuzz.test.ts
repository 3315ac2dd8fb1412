import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments, parseDocument, stringify } from 'yaml';
import { notPlain, parsePlainYaml } from './plain-yaml.ts';

/** What the library makes of it; `broken` where it reports an error or several documents. */
function byLibrary(text: string): unknown {
  const documents = parseAllDocuments(text, { merge: true });
  if (documents.length > 1) return 'broken';
  const document = parseDocument(text, { merge: true });
  return document.errors.length > 0 ? 'broken' : document.toJS();
}

const service = `# a Service
apiVersion: v1
kind: Service
metadata:
  name: web   # its name
  labels:
    app: web
    service.kubernetes.io/service-proxy-name: ""
  annotations: {}
spec:
  clusterIP: 10.96.0.10
  clusterIPs:
  - 10.96.0.10
  - "fd00:10:96::a"
  ports:
    - name: http
      port: 80
      targetPort: 'http'

    - {}
    -
      name: https
      port: 443
  allocateLoadBalancerNodePorts: false
  externalIPs: []
  externalName: ~
status:
  loadBalancer:
`;

describe('manifests as people write them', () => {
  test('a Service', () => {
    const value = parsePlainYaml(service);
    expect(value).not.toBe(notPlain);
    expect(value).toEqual(byLibrary(service));
    expect(value).toMatchObject({
      spec: { ports: [{ port: 80 }, {}, { name: 'https' }], externalName: null },
    });
  });

  test.each([
    ['a: "x # y" # z', { a: 'x # y' }],
    ['a: "say \\"x\\"" # "z"', { a: 'say "x"' }],
    ["a: 'it''s' # z", { a: "it's" }],
    ['a: x#y', { a: 'x#y' }],
    ['a: 1.2.3.4', { a: '1.2.3.4' }],
    ['a: -1', { a: -1 }],
    ['a: yes', { a: 'yes' }],
    ['a: 2026-01-02T03:04:05Z', { a: '2026-01-02T03:04:05Z' }],
    [
      'f:spec:\n  .: {}\n  k:{"port":80}:\n    .: {}',
      { 'f:spec': { '.': {}, 'k:{"port":80}': { '.': {} } } },
    ],
    ['- a\n- b: 1\n  c: 2\n- 3', ['a', { b: 1, c: 2 }, 3]],
    ['', null],
    ['# nothing', null],
  ])('%j', (text, value) => {
    expect(parsePlainYaml(text)).toEqual(value);
    expect(byLibrary(text)).toEqual(value);
  });

  test.each([
    'a: &x 1',
    'a: *x',
    'a: |\n  text',
    'a: >-\n  text',
    'a: !!str 1',
    'a: {b: 1}',
    'a: [1]',
    'a: b: c',
    'a:\n  b: 1\n c: 2',
    'a: 1\na: 2',
    'a: 0x10',
    'a: 0o10',
    'a: 010',
    'a: 1.5',
    'a: 1e3',
    'a: .inf',
    'a: 99999999999999999999',
    'a: word\n  continued',
    'a:\tb',
    'a: "x\n  y"',
    '? a\n: b',
    '- - a',
    '<<: {a: 1}',
    '%YAML 1.2\n---\na: 1',
    'a: 1\n...\nb: 1',
    'true: 1',
    '1: 1',
    'just words',
    'a: @x',
    'a: "x" y',
    'a: - b',
  ])('left to the library: %j', (text) => {
    expect(parsePlainYaml(text)).toBe(notPlain);
  });
});

describe('never another value than the library', () => {
  const key = fc.oneof(
    { weight: 20, arbitrary: fc.stringMatching(/^[a-z]{1,4}$/) },
    fc.constantFrom(
      'name',
      'spec',
      'ports',
      'f:x',
      'k8s.io/a',
      '.',
      'true',
      'null',
      '1',
      '-',
      'a b',
      '',
      '__proto__',
    ),
    fc.string({ maxLength: 6 }),
  );
  const leaf = fc.oneof(
    { weight: 10, arbitrary: fc.stringMatching(/^[ -~]{0,8}$/) },
    fc.string({ maxLength: 12 }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.double({ noNaN: true }),
    fc.constantFrom(
      '10.0.0.1',
      '~',
      'yes',
      '- x',
      'a: b',
      'a #b',
      "'",
      '"',
      '010',
      '0x1',
      '1_0',
      '-',
      '.5',
      '+1',
      '-0',
      '...',
      '---',
    ),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));

  test('x', { timeout: 3000000 }, () => {
    let plain = 0;
    fc.assert(
      fc.property(fc.dictionary(key, tree, { minKeys: 1, maxKeys: 5 }), fc.boolean(), (value, indentSeq) => {
        const text = stringify(value, { indentSeq, lineWidth: 0 });
        const read = parsePlainYaml(text);
        if (read === notPlain) return;
        plain += 1;
        expect(read).toEqual(byLibrary(text));
      }),
      { numRuns: 40000 },
    );
    expect(plain).toBeGreaterThan(100);
  });

  test('y', { timeout: 3000000 }, () => {
    const edit = fc.record({
      at: fc.nat(service.length - 1),
      remove: fc.nat(4),
      insert: fc.oneof(
        fc.constantFrom(
          ' ',
          '  ',
          '\n',
          '-',
          '- ',
          ':',
          ': ',
          '#',
          ' #',
          '"',
          "'",
          '{',
          '}',
          '[',
          ']',
          '|',
          '>',
          '&',
          '*',
          '!',
          '%',
          ',',
          '...',
          '---',
          '\n---\n',
          '~',
          '0',
          '.',
          '\\',
        ),
        fc.string({ maxLength: 3 }),
      ),
    });
    let plain = 0;
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
        let text = service;
        for (const { at, remove, insert } of edits)
          text = text.slice(0, at) + insert + text.slice(at + remove);
        const read = parsePlainYaml(text);
        if (read === notPlain) return;
        plain += 1;
        expect(read).toEqual(byLibrary(text));
      }),
      { numRuns: 40000 },
    );
    expect(plain).toBeGreaterThan(100);
  });
});
