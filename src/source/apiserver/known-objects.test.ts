import { describe, expect, test } from 'vitest';
import type { ServiceCIDR } from '../../kube/service-cidr.ts';
import { KnownObjects } from './known-objects.ts';
import { RecordingSink } from './testing/recording-sink.ts';

const object = (name: string, resourceVersion: string): ServiceCIDR => ({ name, resourceVersion, cidrs: [] });

function filled() {
  const sink = new RecordingSink<ServiceCIDR>();
  const known = new KnownObjects(sink);
  known.beginList(true);
  for (const name of ['a', 'b', 'c']) known.set(object(name, '1'));
  known.endList();
  sink.take();
  return { sink, known };
}

describe('KnownObjects', () => {
  test('the first list delivers all and says so once', () => {
    const { sink, known } = filled();
    known.beginList(true);
    known.endList();
    expect(sink.take()).toEqual(['delete a', 'delete b', 'delete c']);
    known.markSynced();
    expect(sink.take()).toEqual([]);
  });

  test('a later list delivers the difference', () => {
    const { sink, known } = filled();
    known.beginList(true);
    known.set(object('a', '1'));
    known.set(object('c', '2'));
    known.set(object('d', '3'));
    known.endList();
    expect(sink.take()).toEqual(['set c@2', 'set d@3', 'delete b']);
  });

  test('without trust in versions all is delivered again', () => {
    const { sink, known } = filled();
    known.beginList(false);
    known.set(object('a', '1'));
    known.set(object('b', '1'));
    known.endList();
    expect(sink.take()).toEqual(['set a@1', 'set b@1', 'delete c']);
  });

  test('a list that is given up deletes nothing, even when another follows', () => {
    const { sink, known } = filled();
    known.beginList(true);
    known.set(object('a', '2'));
    known.beginList(true);
    known.set(object('a', '2'));
    known.set(object('b', '1'));
    known.set(object('c', '1'));
    known.endList();
    expect(sink.take()).toEqual(['set a@2']);
  });

  test('what cannot be read stays as it is', () => {
    const { sink, known } = filled();
    known.beginList(true);
    known.keep({ kind: 'ServiceCIDR', namespace: '', name: 'a', resourceVersion: '9', reason: '' });
    known.keep({ kind: 'ServiceCIDR', namespace: '', name: '', resourceVersion: '', reason: '' });
    known.endList();
    expect(sink.take()).toEqual(['delete b', 'delete c']);
  });

  test('repeated events cost nothing, deletions of strangers neither', () => {
    const { sink, known } = filled();
    known.set(object('a', '1'));
    known.delete(object('zzz', '4'));
    known.delete(object('a', '5'));
    known.delete(object('a', '5'));
    known.set(object('a', '1'));
    expect(sink.take()).toEqual(['delete a', 'set a@1']);
    expect(known.size).toBe(3);
  });
});
