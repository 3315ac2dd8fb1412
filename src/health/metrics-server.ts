import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { flagzPage, pickSeparator, type Statusz, statuszPage } from './debug-pages.ts';
import { DEFAULT_HTTP_LIMITS, GuardedHttpServer, type HttpLimits } from './guarded-http-server.ts';
import {
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
  json,
  notFound,
  plainText,
} from './http-answer.ts';
import { type ListenerOptions, PersistentListener } from './persistent-listener.ts';
import { profilingRoutes } from './profiling-routes.ts';
import { answerPage } from './structured-page.ts';

/** A scrape in the form the request headers ask for. */
export type ScrapePage = (request: { readonly accept: string; readonly acceptEncoding: string }) => Promise<{
  readonly contentType: string;
  readonly contentEncoding: string | undefined;
  readonly body: Uint8Array;
}>;

/** What the metrics server shows. Parts left out answer 404. */
export interface MetricsServerContent {
  readonly metrics: ScrapePage;
  readonly slis: { readonly page: ScrapePage; readonly reset: () => void; readonly notePing: () => void };
  /** The word of `/proxyMode`. */
  readonly mode: string;
  /** The effective configuration, keys in the order of the API type. */
  readonly configz: () => unknown;
  /** Unix time in seconds. */
  readonly startTime: number;
  /** Flags as given; only with the feature gate ComponentFlagz. */
  readonly flagz?: () => ReadonlyMap<string, string>;
  /** Only with the feature gate ComponentStatusz. */
  readonly statusz?: () => Omit<Statusz, 'paths'>;
  /** Only with `enableProfiling`. */
  readonly profiling?: { readonly setVerbosity: (text: string) => string | undefined };
  /** For the separators of /flagz and /statusz; 0 up to 1. */
  readonly random?: () => number;
}

const STATUSZ_PATHS = ['/configz', '/flagz', '/healthz', '/metrics', '/proxyMode'];

/** All paths of the metrics server (operations 4.3). They match exactly: `/metrics/` is not found. */
function metricsHandler(content: MetricsServerContent): HttpHandler {
  const random = content.random ?? Math.random;
  const startTime = { 'Process-Start-Time-Unix': String(Math.floor(content.startTime)) };
  const routes = new Map<string, HttpHandler>([
    ['/metrics', (request) => scrape(content.metrics, request, startTime)],
    ['/metrics/slis', (request) => slis(content.slis, request, startTime)],
    ['/healthz', (request) => healthz(content.slis, request)],
    ['/healthz/ping', () => plainText(200, 'ok')],
    ['/proxyMode', () => plainText(200, content.mode)],
    ['/configz', () => json(200, goJson({ 'kubeproxy.config.k8s.io': content.configz() }))],
  ]);
  const { flagz, statusz, profiling } = content;
  if (flagz !== undefined) {
    const separator = pickSeparator(random);
    routes.set('/flagz', (request) => answerPage(flagzPage(flagz(), separator), request.accept));
  }
  if (statusz !== undefined) {
    const paths = STATUSZ_PATHS.filter((path) => routes.has(path));
    routes.set('/statusz', (request) =>
      answerPage(statuszPage({ ...statusz(), paths }, pickSeparator(random)), request.accept),
    );
  }
  if (profiling !== undefined) {
    for (const [path, handler] of profilingRoutes(profiling.setVerbosity)) routes.set(path, handler);
  }
  return (request) => (routes.get(request.path) ?? notFound)(request);
}

/** Connections that may scrape at the same time; each may hold a whole scrape in memory. */
const LIMITS: HttpLimits = { ...DEFAULT_HTTP_LIMITS, connections: 64 };

/** The metrics server with its listener; not yet started. */
export function createMetricsServer(
  options: Omit<ListenerOptions, 'name'>,
  content: MetricsServerContent,
  dependencies: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly onFatal: (error: unknown) => void;
  },
): PersistentListener {
  const http = new GuardedHttpServer(metricsHandler(content), { limits: LIMITS, ...dependencies });
  return new PersistentListener({ ...options, name: 'metrics' }, { ...dependencies, http });
}

async function scrape(
  page: ScrapePage,
  request: HttpRequest,
  extraHeaders: Readonly<Record<string, string>>,
): Promise<HttpAnswer> {
  const { contentType, contentEncoding, body } = await page(request);
  const encoding = contentEncoding === undefined ? {} : { 'Content-Encoding': contentEncoding };
  return { status: 200, headers: { 'Content-Type': contentType, ...encoding, ...extraHeaders }, body };
}

function slis(
  { page, reset }: MetricsServerContent['slis'],
  request: HttpRequest,
  extraHeaders: Readonly<Record<string, string>>,
): HttpAnswer | Promise<HttpAnswer> {
  if (request.method !== 'DELETE') return scrape(page, request, extraHeaders);
  reset();
  return { status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: 'metrics reset\n' };
}

/** The health check of the port itself: its one check, `ping`, always succeeds. */
function healthz({ notePing }: MetricsServerContent['slis'], request: HttpRequest): HttpAnswer {
  const excluded = new Set(request.query.getAll('exclude'));
  const pingExcluded = excluded.delete('ping');
  if (!pingExcluded) notePing();
  if (!request.query.has('verbose')) return plainText(200, 'ok');
  const lines = [pingExcluded ? '[+]ping excluded: ok' : '[+]ping ok'];
  if (excluded.size > 0) {
    const names = [...excluded].map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  return plainText(200, `${[...lines, 'healthz check passed'].join('\n')}\n`);
}

/** JSON as Go writes it: without blanks, and safe to be put into HTML. */
function goJson(value: unknown): string {
  const escapes: Record<string, string> = {
    '<': '\\u003c',
    '>': '\\u003e',
    '&': '\\u0026',
    '\u2028': '\\u2028',
    '\u2029': '\\u2029',
  };
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => escapes[character]!);
}
