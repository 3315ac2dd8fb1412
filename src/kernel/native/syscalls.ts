/**
 * The system calls that the kernel families need, and no more. No logic lives behind it, so that everything above
 * runs against a fake.
 *
 * Each call returns what the kernel returns: a value of 0 or more, or a negated errno (`-11` for EAGAIN). Nothing
 * throws. Buffers are passed as they are, without a copy; a `Uint8Array` over part of an ArrayBuffer is fine.
 */
export interface Syscalls {
  /** socket(2). */
  socket(domain: number, type: number, protocol: number): number;
  /** bind(2); `address` is a struct sockaddr in host byte order. */
  bind(fd: number, address: Uint8Array): number;
  /** getsockname(2); writes into `address` and returns its length. */
  getsockname(fd: number, address: Uint8Array): number;
  /** setsockopt(2). */
  setsockopt(fd: number, level: number, option: number, value: Uint8Array): number;
  /** setsockopt(2) with SO_ATTACH_FILTER; `program` is an array of struct sock_filter. */
  attachFilter(fd: number, program: Uint8Array): number;
  /** getsockopt(2); writes into `value` and returns the length the kernel reports. */
  getsockopt(fd: number, level: number, option: number, value: Uint8Array): number;
  /** send(2). */
  send(fd: number, data: Uint8Array, flags: number): number;
  /** recvfrom(2); the sender's struct sockaddr goes to `sender`. With MSG_TRUNC the result may exceed the buffer. */
  recvfrom(fd: number, buffer: Uint8Array, flags: number, sender: Uint8Array): number;
  /** {@link send} on another thread. The data must not be touched until the promise settles; it never rejects. */
  sendInBackground(fd: number, data: Uint8Array, flags: number): Promise<number>;
  /** {@link recvfrom} on another thread. The buffers must not be touched until the promise settles; it never rejects. */
  recvfromInBackground(fd: number, buffer: Uint8Array, flags: number, sender: Uint8Array): Promise<number>;
  /** close(2). */
  close(fd: number): number;
  /** setns(2); moves the calling thread only. */
  setns(fd: number, namespaceType: number): number;
}

/** Tells when a descriptor can be read, without a thread and without asking again and again. */
export interface ReadableWatcher {
  /**
   * Calls `onReadable` on the event loop while `fd` has something to read (level-triggered: again and again until it
   * is drained). The watch does not keep the process alive. It must be closed before the descriptor is, and before the
   * worker ends if this is not the main thread.
   */
  watchReadable(fd: number, onReadable: () => void): { close(): void };
}
