import type { ListMeta } from './list-meta.ts';
import type { BadObject, WatchEvent } from './watch-event.ts';

/** What a list delivers while its body arrives. Callbacks must not throw. */
export interface ListHandler<T> {
  item(object: T): void;
  /** An item that could not be decoded; the others are not touched by it. */
  bad(object: BadObject): void;
}

/** Decodes one list body that arrives in pieces. Items are delivered as soon as they are complete. */
export interface ListDecoder {
  /** Throws DecodeError when the list cannot go on. */
  push(chunk: Uint8Array): void;
  /** Called at the end of the body: the list's metadata. Throws DecodeError when the body is incomplete. */
  end(): ListMeta;
}

/** Decodes a watch stream that arrives in pieces. */
export interface WatchDecoder {
  /** Delivers each complete event. Throws DecodeError when the stream cannot go on. */
  push(chunk: Uint8Array): void;
  /** Called at the end of the stream. Throws DecodeError when it was cut within a frame. */
  end(): void;
}

export type WatchHandler<T> = (event: WatchEvent<T>) => void;

/**
 * Largest item or frame that is accepted. etcd refuses objects above 1.5 MiB by default; JSON and the metadata of
 * managed fields make them larger on the wire, but not tenfold.
 */
export const maxObjectBytes: number = 16 * 1024 * 1024;
