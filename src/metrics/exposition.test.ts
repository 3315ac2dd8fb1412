import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Counter, CounterVec } from './counter.ts';
import { type ExpositionRequest, sharedExposition } from './exposition.ts';
import { formatFloat } from './format-float.ts';
import { Gauge, GaugeVec } from './gauge.ts';
import { exponentialBuckets, HistogramVec } from './histogram.ts';
import { Registry } from './registry.ts';
import { ScrapeMetric } from './scrape-metric.ts';

function sampleRegistry(): Registry {
  const registry = new Registry();
  const duration = new HistogramVec({
    name: 'z_duration_seconds',
    help: '[ALPHA] how long',
    labels: ['verb', 'host'],
    buckets: [0.001, 1, 16_777_216],
  });
  const events = new CounterVec({
    name: 'b_total',
    help: 'back\\slash\nand "quotes"',
    labels: ['reason', 'code'],
  });
  const gauge = new Gauge({ name: 'a_timestamp_seconds', help: 'when' });
  registry.register(duration, events, gauge, new Counter({ name: 'c_total', help: 'unused' }));
  registry.register(new CounterVec({ name: 'hidden_total', help: 'nothing yet', labels: ['x'] }));
  duration.observe({ verb: 'GET', host: 'api' }, 0.001);
  duration.observe({ verb: 'GET', host: 'api' }, 0.5, 2);
  duration.observe({ verb: 'GET', host: 'api' }, 2e7);
  events.inc({ reason: 'b"\\\n', code: '2' });
  events.inc({ reason: 'a', code: '2' }, 1_234_567);
  events.inc({ reason: 'c', code: '1' }, 3);
  gauge.set(1_777_629_600.25);
  return registry;
}

const EXPECTED = `# HELP a_timestamp_seconds when
# TYPE a_timestamp_seconds gauge
a_timestamp_seconds 1.77762960025e+09
# HELP b_total back\\\\slash\\nand "quotes"
# TYPE b_total counter
b_total{code="1",reason="c"} 3
b_total{code="2",reason="a"} 1.234567e+06
b_total{code="2",reason="b\\"\\\\\\n"} 1
# HELP c_total unused
# TYPE c_total counter
c_total 0
# HELP z_duration_seconds [ALPHA] how long
# TYPE z_duration_seconds histogram
z_duration_seconds_bucket{host="api",verb="GET",le="0.001"} 1
z_duration_seconds_bucket{host="api",verb="GET",le="1"} 3
z_duration_seconds_bucket{host="api",verb="GET",le="1.6777216e+07"} 3
z_duration_seconds_bucket{host="api",verb="GET",le="+Inf"} 4
z_duration_seconds_sum{host="api",verb="GET"} 2.0000001001e+07
z_duration_seconds_count{host="api",verb="GET"} 4
`;

const ask = (request: Partial<ExpositionRequest> = {}, registry = sampleRegistry()) =>
  sharedExposition(registry)({ accept: '', acceptEncoding: '', ...request });

test('without wishes the answer is text as Go writes it, uncompressed', async () => {
  const { body, contentType, contentEncoding } = await ask();
  expect(Buffer.from(body).toString()).toBe(EXPECTED);
  expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
  expect(contentEncoding).toBeUndefined();
});

test.each([
  ['', false],
  ['gzip', true],
  ['deflate, gzip;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip, identity', false],
  ['gzip, identity;q=0.5', true],
  ['*', false],
])('Accept-Encoding %j', async (acceptEncoding, zipped) => {
  const { body, contentEncoding } = await ask({ acceptEncoding });
  expect(contentEncoding).toBe(zipped ? 'gzip' : undefined);
  expect((zipped ? gunzipSync(body) : Buffer.from(body)).toString()).toBe(EXPECTED);
});

const PROTOBUF = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';
const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8; escaping=';
const PROTOBUF_TYPE =
  'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=';
test.each([
  ['*/*', `${TEXT_TYPE}underscores`],
  ['image/png', `${TEXT_TYPE}underscores`],
  ['application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5', `${TEXT_TYPE}underscores`],
  ['text/plain;version=0.0.4;escaping=allow-utf-8', `${TEXT_TYPE}allow-utf-8`],
  ['text/plain;version=0.0.4;escaping=nonsense', `${TEXT_TYPE}underscores`],
  [PROTOBUF, `${PROTOBUF_TYPE}underscores`],
  [`text/plain;version=0.0.4;q=0.4,${PROTOBUF};q=0.6`, `${PROTOBUF_TYPE}underscores`],
  [`text/plain;version=0.0.4,${PROTOBUF};q=0.6`, `${TEXT_TYPE}underscores`],
  ['application/vnd.google.protobuf', `${TEXT_TYPE}underscores`],
])('Accept %j', async (accept, contentType) => {
  expect((await ask({ accept })).contentType).toBe(contentType);
});

test('protocol buffers, read back field by field', async () => {
  const { body } = await ask({ accept: PROTOBUF });
  const families = readDelimited(body).map(readMessage);
  const name = (family: Message) => Buffer.from(family.get(1)![0] as Uint8Array).toString();
  expect(families.map(name)).toEqual(['a_timestamp_seconds', 'b_total', 'c_total', 'z_duration_seconds']);
  expect(families.map((family) => family.get(3)![0])).toEqual([1, 0, 0, 4]);

  const gauge = readMessage(readMessage(families[0]!.get(4)![0]).get(2)![0]);
  expect(gauge.get(1)).toEqual([1_777_629_600.25]);

  const counters = families[1]!.get(4)!.map(readMessage);
  expect(counters.map((metric) => readMessage(metric.get(3)![0]).get(1)![0])).toEqual([3, 1_234_567, 1]);
  const labels = counters[2]!.get(1)!.map(readMessage);
  const text = (value: unknown) => Buffer.from(value as Uint8Array).toString();
  expect(labels.map((label) => [text(label.get(1)![0]), text(label.get(2)![0])])).toEqual([
    ['code', '2'],
    ['reason', 'b"\\\n'],
  ]);

  const histogram = readMessage(readMessage(families[3]!.get(4)![0]).get(7)![0]);
  expect(histogram.get(1)).toEqual([4]);
  expect(histogram.get(2)).toEqual([20_000_001.001]);
  const buckets = histogram.get(3)!.map(readMessage);
  expect(buckets.map((bucket) => [bucket.get(1)![0], bucket.get(2)![0]])).toEqual([
    [1, 0.001],
    [3, 1],
    [3, 16_777_216],
  ]);
});

test.each([
  [0, '0'],
  [-0, '0'],
  [1, '1'],
  [0.1, '0.1'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [0.000012345, '1.2345e-05'],
  [1e-10, '1e-10'],
  [999_999, '999999'],
  [999_999.5, '999999.5'],
  [1e6, '1e+06'],
  [1_234_567.5, '1.2345675e+06'],
  [1e21, '1e+21'],
  [1.5e300, '1.5e+300'],
  [-2_000_000, '-2e+06'],
  [2 ** 64, '1.8446744073709552e+19'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, '+Inf'],
  [Number.NEGATIVE_INFINITY, '-Inf'],
])('%d is printed %s', (value, text) => {
  expect(formatFloat(value)).toBe(text);
});

test('bucket bounds print without binary dust', () => {
  expect(exponentialBuckets(0.001, 2, 15).map(formatFloat)).toEqual(
    '0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384'.split(' '),
  );
});

test('a metric that cannot be read is left out, the others stay', async () => {
  const registry = sampleRegistry();
  registry.register(
    new ScrapeMetric({ name: 'a_broken', help: '', type: 'gauge' }, () =>
      Promise.reject(new Error('no nfacct')),
    ),
    new ScrapeMetric({ name: 'a_absent', help: '', type: 'gauge' }, () => []),
  );
  expect(Buffer.from((await ask({}, registry)).body).toString()).toBe(EXPECTED);
});

test('values asked for at the scrape', async () => {
  const registry = new Registry();
  const ages = new ScrapeMetric({ name: 'age', help: 'age', type: 'gauge', labels: ['resource'] });
  registry.register(ages);
  let age = 1;
  const remove = ages.addSource(() => [[{ resource: 'services' }, age]]);
  ages.addSource(async () => [[{ resource: 'nodes' }, 5]]);
  const text = async () => Buffer.from((await ask({}, registry)).body).toString();
  expect(await text()).toContain('age{resource="nodes"} 5\nage{resource="services"} 1\n');
  age = 2;
  expect(await text()).toContain('age{resource="services"} 2\n');
  remove();
  expect(await text()).not.toContain('services');
});

test('series can be deleted and metrics cannot share a name', async () => {
  const registry = new Registry();
  const gauge = new GaugeVec({ name: 'g', help: '', labels: ['a', 'b'] });
  registry.register(gauge);
  gauge.set({ a: '1', b: '1' }, 1);
  gauge.set({ a: '1', b: '2' }, 2);
  gauge.delete({ a: '1', b: '1' });
  gauge.delete({ a: '9', b: '1' });
  expect(gauge.collect().series).toEqual([{ labelValues: ['1', '2'], value: 2 }]);
  gauge.delete({ a: '1', b: '2' });
  expect(await registry.gather()).toEqual([]);
  expect(() => registry.register(new Gauge({ name: 'g', help: '' }))).toThrow('registered already');
  expect(() => registry.register(new Gauge({ name: 'no-name', help: '' }))).toThrow('not a metric name');
});

test('counters refuse to go down', () => {
  const counter = new Counter({ name: 'c_total', help: '' });
  expect(() => counter.inc(-1)).toThrow(RangeError);
  expect(() => counter.inc(Number.NaN)).toThrow(RangeError);
  expect(counter.value).toBe(0);
});

test('values on and around a bucket bound, and values that are none', () => {
  const histogram = new HistogramVec({ name: 'h', help: '', labels: ['ip_family'], buckets: [1, 2, 4] });
  const series = histogram.with({ ip_family: 'IPv4' });
  for (const value of [0, 1, 1.0001, 2, 4, 4.0001, Number.NaN]) series.observe(value);
  expect([...series.counts]).toEqual([2, 2, 1, 2]);
  expect(() => new HistogramVec({ name: 'h', help: '', labels: ['x'], buckets: [1, 1] })).toThrow(RangeError);
});

type Message = Map<number, unknown[]>;

function readVarint(bytes: Uint8Array, at: number): [value: number, next: number] {
  let value = 0;
  for (let i = 0; ; i++) {
    const byte = bytes[at + i]!;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return [value, at + i + 1];
  }
}

function readDelimited(bytes: Uint8Array): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [length, start] = readVarint(bytes, at);
    messages.push(bytes.subarray(start, start + length));
    at = start + length;
  }
  return messages;
}

function readMessage(value: unknown): Message {
  const bytes = value as Uint8Array;
  const fields: Message = new Map();
  for (let at = 0; at < bytes.length; ) {
    const [tag, start] = readVarint(bytes, at);
    let field: unknown;
    if ((tag & 7) === 0) [field, at] = readVarint(bytes, start);
    else if ((tag & 7) === 1) {
      field = Buffer.from(bytes).readDoubleLE(start);
      at = start + 8;
    } else {
      const [length, data] = readVarint(bytes, start);
      field = bytes.subarray(data, data + length);
      at = data + length;
    }
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), field]);
  }
  return fields;
}

test('scrapes that come while one is being taken share the next one, and see what was there when they came', async () => {
  const registry = new Registry();
  let reads = 0;
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
  const metric = new ScrapeMetric({ name: 'reads_total', help: 'x', type: 'counter' }, async () => {
    reads++;
    if (reads === 1) await gate;
    return [[{}, reads]];
  });
  registry.register(metric);
  const scrape = sharedExposition(registry);
  const text = async (acceptEncoding = '') => {
    const { body, contentEncoding } = await scrape({ accept: '', acceptEncoding });
    const plain = contentEncoding === 'gzip' ? gunzipSync(body) : Buffer.from(body);
    return /reads_total (\d+)/.exec(plain.toString())?.[1];
  };
  const first = text();
  await Promise.resolve();
  const later = Array.from({ length: 100 }, (_, index) => text(index % 2 === 0 ? '' : 'gzip'));
  openGate();
  expect(await first).toBe('1');
  expect(new Set(await Promise.all(later))).toEqual(new Set(['2', '3']));
  expect(reads).toBe(3);
  expect(await text()).toBe('4');
});

test('a scrape that fails is the trouble of those who share it', async () => {
  const registry = new Registry();
  let broken = true;
  registry.register({
    name: 'odd_total',
    collect: () => ({
      name: 'odd_total',
      help: 'x',
      type: 'counter',
      labelNames: ['a'],
      // Something no metric should do, which ends the whole scrape.
      get series() {
        if (broken) throw new Error('broken');
        return [{ labelValues: ['b'], value: 1 }];
      },
    }),
  });
  const scrape = sharedExposition(registry);
  const request = { accept: '', acceptEncoding: '' };
  await expect(scrape(request)).rejects.toThrow();
  broken = false;
  expect(Buffer.from((await scrape(request)).body).toString()).toContain('odd_total{a="b"} 1');
});
