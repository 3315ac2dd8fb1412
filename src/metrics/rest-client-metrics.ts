import { CounterVec } from './counter.ts';
import { HistogramVec } from './histogram.ts';
import type { Registry } from './registry.ts';

const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const SIZE_BUCKETS = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** The metrics of the API client, by the names of client-go (operations 5.4). `host` is `host:port` of the API server. */
export class RestClientMetrics {
  /** `code` is the HTTP status, or `<error>` when no answer came. */
  readonly requests = new CounterVec({
    name: 'rest_client_requests_total',
    help: '[ALPHA] Requests to the API server, by status code, method and host',
    labels: ['code', 'method', 'host'],
  });
  /** `verb` is the HTTP method. Watches are counted when their answer begins. */
  readonly requestDuration = new HistogramVec({
    name: 'rest_client_request_duration_seconds',
    help: '[ALPHA] Time from a request to the beginning of its answer, in seconds',
    labels: ['verb', 'host'],
    buckets: DURATION_BUCKETS,
  });
  readonly rateLimiterDuration = new HistogramVec({
    name: 'rest_client_rate_limiter_duration_seconds',
    help: '[ALPHA] Time requests were held back by the client-side rate limit, in seconds',
    labels: ['verb', 'host'],
    buckets: DURATION_BUCKETS,
  });
  readonly requestSize = new HistogramVec({
    name: 'rest_client_request_size_bytes',
    help: '[ALPHA] Size of request bodies, in bytes',
    labels: ['verb', 'host'],
    buckets: SIZE_BUCKETS,
  });
  readonly responseSize = new HistogramVec({
    name: 'rest_client_response_size_bytes',
    help: '[ALPHA] Size of answers, in bytes',
    labels: ['verb', 'host'],
    buckets: SIZE_BUCKETS,
  });
  readonly retries = new CounterVec({
    name: 'rest_client_request_retries_total',
    help: '[ALPHA] Requests sent again, by the status code that caused it',
    labels: ['code', 'verb', 'host'],
  });

  register(registry: Registry): void {
    const { requests, requestDuration, rateLimiterDuration, requestSize, responseSize, retries } = this;
    registry.register(requests, requestDuration, rateLimiterDuration, requestSize, responseSize, retries);
  }
}
