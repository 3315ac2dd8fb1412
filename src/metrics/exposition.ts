import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { qualityOf, readAccept } from '../base/accept-header.ts';
import { renderProtobuf } from './protobuf-format.ts';
import type { Registry } from './registry.ts';
import { renderText } from './text-format.ts';

const compress = promisify(gzip);

/** A scrape, ready to be sent. */
export interface Exposition {
  readonly contentType: string;
  readonly contentEncoding: 'gzip' | undefined;
  readonly body: Uint8Array;
}

/** The request headers that decide about the form of a scrape. */
export interface ExpositionRequest {
  readonly accept: string;
  readonly acceptEncoding: string;
}

/**
 * The content of a registry in the form a scraper asks for (operations 4.3): text 0.0.4, or delimited protocol buffers when
 * they are named in full; gzip where it is preferred to plain. Anything else gets text: there is no 406.
 *
 * One scrape is taken after the other. Requests that come meanwhile share the next one of their form, so that any number
 * of scrapers takes no more time from the proxy than one.
 */
export function sharedExposition(registry: Registry): (request: ExpositionRequest) => Promise<Exposition> {
  const waiting = new Map<string, Promise<Exposition>>();
  let last: Promise<unknown> = Promise.resolve();
  return (request) => {
    const form = negotiate(request);
    const key = JSON.stringify(form);
    const shared = waiting.get(key);
    if (shared !== undefined) return shared;
    const next = last.then(() => {
      waiting.delete(key);
      return render(registry, form);
    });
    waiting.set(key, next);
    last = next.catch(() => {});
    return next;
  };
}

interface Form {
  readonly protobuf: boolean;
  readonly escaping: string;
  readonly zip: boolean;
}

function negotiate({ accept, acceptEncoding }: ExpositionRequest): Form {
  return { ...negotiateFormat(accept), zip: prefersGzip(acceptEncoding) };
}

async function render(registry: Registry, { protobuf, escaping, zip }: Form): Promise<Exposition> {
  const families = await registry.gather();
  const plain = protobuf ? renderProtobuf(families) : Buffer.from(renderText(families));
  return {
    contentType: protobuf
      ? `application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=${escaping}`
      : `text/plain; version=0.0.4; charset=utf-8; escaping=${escaping}`,
    contentEncoding: zip ? 'gzip' : undefined,
    body: zip ? await compress(plain) : plain,
  };
}

// All our names are of the classic kind, so the escaping scheme changes nothing but what the header says.
const ESCAPING_SCHEMES = ['allow-utf-8', 'underscores', 'dots', 'values'];

function negotiateFormat(accept: string): { protobuf: boolean; escaping: string } {
  let escaping = 'underscores';
  for (const { type, parameters } of readAccept(accept)) {
    const wanted = parameters.get('escaping');
    if (wanted !== undefined && ESCAPING_SCHEMES.includes(wanted)) escaping = wanted;
    if (
      type === 'application/vnd.google.protobuf' &&
      parameters.get('proto') === 'io.prometheus.client.MetricFamily' &&
      parameters.get('encoding') === 'delimited'
    ) {
      return { protobuf: true, escaping };
    }
    const version = parameters.get('version') ?? '0.0.4';
    if (type === 'text/plain' && version === '0.0.4') break;
  }
  return { protobuf: false, escaping };
}

function prefersGzip(acceptEncoding: string): boolean {
  const accepted = readAccept(acceptEncoding);
  const quality = qualityOf(accepted, 'gzip');
  return quality > 0 && quality > qualityOf(accepted, 'identity');
}
