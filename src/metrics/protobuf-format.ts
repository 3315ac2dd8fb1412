import type { HistogramValue, MetricFamily, Series } from './metric-family.ts';

const TYPE_NUMBERS = { counter: 0, gauge: 1, histogram: 4 } as const;
const VALUE_FIELDS = { gauge: 2, counter: 3, histogram: 7 } as const;

/**
 * Delimited protocol buffers: each `io.prometheus.client.MetricFamily` (metrics.proto of prometheus/client_model)
 * behind its length. The unbounded bucket is left out, as in Go's client: the sample count says the same.
 */
export function renderProtobuf(families: readonly MetricFamily[]): Uint8Array {
  return Buffer.concat(families.map((family) => delimited(encodeFamily(family))));
}

function encodeFamily(family: MetricFamily): Uint8Array {
  return Buffer.concat([
    text(1, family.name),
    text(2, family.help),
    varintField(3, TYPE_NUMBERS[family.type]),
    ...family.series.map((series) => message(4, encodeMetric(family, series))),
  ]);
}

function encodeMetric(family: MetricFamily, series: Series): Uint8Array {
  const labels = family.labelNames.map((name, i) =>
    message(1, Buffer.concat([text(1, name), text(2, series.labelValues[i]!)])),
  );
  const value = typeof series.value === 'number' ? double(1, series.value) : encodeHistogram(series.value);
  return Buffer.concat([...labels, message(VALUE_FIELDS[family.type], value)]);
}

function encodeHistogram(histogram: HistogramValue): Uint8Array {
  const buckets: Uint8Array[] = [];
  let total = 0;
  for (const [i, bound] of histogram.bounds.entries()) {
    total += histogram.counts[i]!;
    buckets.push(message(3, Buffer.concat([varintField(1, total), double(2, bound)])));
  }
  total += histogram.counts[histogram.bounds.length]!;
  return Buffer.concat([varintField(1, total), double(2, histogram.sum), ...buckets]);
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function tag(field: number, wireType: number): Uint8Array {
  return varint((field << 3) | wireType);
}

function varintField(field: number, value: number): Uint8Array {
  return Buffer.concat([tag(field, VARINT), varint(value)]);
}

function double(field: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, FIXED64), bytes]);
}

function delimited(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([varint(bytes.length), bytes]);
}

function message(field: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([tag(field, BYTES), delimited(bytes)]);
}

function text(field: number, value: string): Uint8Array {
  return message(field, Buffer.from(value));
}
