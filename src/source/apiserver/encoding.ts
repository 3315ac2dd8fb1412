import { JsonListDecoder } from '../../kube/json/json-list-decoder.ts';
import { JsonWatchDecoder } from '../../kube/json/json-watch-decoder.ts';
import type { KindDecoder, KubeObject } from '../../kube/kind-decoder.ts';
import { ProtobufListDecoder } from '../../kube/protobuf/protobuf-list-decoder.ts';
import { ProtobufWatchDecoder } from '../../kube/protobuf/protobuf-watch-decoder.ts';
import type { ListDecoder, ListHandler, WatchDecoder, WatchHandler } from '../../kube/stream-decoder.ts';
import { ApiError } from './api-error.ts';

const protobufType = 'application/vnd.kubernetes.protobuf';
export const jsonType = 'application/json';

/** The `Accept` header for a list. */
export type Accept = string;

/**
 * What to ask for: `acceptContentTypes` of clientConnection where it is set, otherwise its `contentType`, of which only
 * protobuf and JSON are known.
 */
export function acceptOf(options: {
  readonly acceptContentTypes: string;
  readonly contentType: string;
}): Accept {
  if (options.acceptContentTypes !== '') return options.acceptContentTypes;
  return options.contentType === jsonType ? jsonType : protobufType;
}

/** The `Accept` header for a watch: the same types as streams. */
export function watchAccept(accept: Accept): string {
  return accept
    .split(',')
    .map((type) => type.trim())
    .map((type) => (type === protobufType ? `${type};stream=watch` : type))
    .join(',');
}

/** A decoder for a list in the format that the server chose. Throws ApiError API_CONTENT_TYPE. */
export function listDecoderFor<T extends KubeObject>(
  contentType: string,
  kind: KindDecoder<T>,
  handler: ListHandler<T>,
  path: string,
): ListDecoder {
  if (contentType.startsWith(protobufType)) return new ProtobufListDecoder(kind, handler);
  if (contentType.startsWith(jsonType)) return new JsonListDecoder(kind, handler);
  throw new ApiError({ code: 'API_CONTENT_TYPE', path, contentType });
}

/** A decoder for a watch in the format that the server chose. Throws ApiError API_CONTENT_TYPE. */
export function watchDecoderFor<T extends KubeObject>(
  contentType: string,
  kind: KindDecoder<T>,
  handler: WatchHandler<T>,
  path: string,
): WatchDecoder {
  if (contentType.startsWith(protobufType)) return new ProtobufWatchDecoder(kind, handler);
  if (contentType.startsWith(jsonType)) return new JsonWatchDecoder(kind, handler);
  throw new ApiError({ code: 'API_CONTENT_TYPE', path, contentType });
}
