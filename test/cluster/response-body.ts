import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { CutStyle, FaultAction } from './fault.ts';

const trickleTickMilliseconds = 20;

/**
 * The body of one answer, with the faults that can befall it on its way. Bytes go out in the order of the calls; once
 * the body was cut, stalled or ended, further writes are ignored.
 */
export class ResponseBody {
  readonly #response: ServerResponse;
  readonly #action: FaultAction | undefined;
  #sent = 0;
  #closed = false;
  #queue: Buffer[] = [];
  #trickle: NodeJS.Timeout | undefined;
  #endWhenEmpty = false;

  constructor(response: ServerResponse, action: FaultAction | undefined) {
    this.#response = response;
    this.#action = action;
    response.on('close', () => {
      this.#closed = true;
      clearInterval(this.#trickle);
    });
  }

  /** Whether nothing can be written any more. */
  get closed(): boolean {
    return this.#closed;
  }

  write(bytes: Buffer): void {
    if (this.#closed || bytes.length === 0) return;
    if (this.#action?.kind === 'trickle') {
      this.#queue.push(bytes);
      this.#startTrickle(this.#action.bytesPerSecond);
    } else {
      this.#pass(bytes);
    }
  }

  /** Completes the body. */
  end(): void {
    if (this.#closed) return;
    if (this.#queue.length > 0) {
      this.#endWhenEmpty = true;
      return;
    }
    this.#closed = true;
    this.#response.end();
  }

  /** Ends the connection now; `partial` is sent before, for a frame that breaks off in the middle. */
  cut(how: CutStyle, partial?: Buffer): void {
    if (this.#closed) return;
    this.#closed = true;
    const finish = () => {
      if (how === 'end') this.#response.end();
      else endSocket(this.#response.socket, how);
    };
    if (partial === undefined || partial.length === 0) finish();
    else this.#response.write(partial, finish);
  }

  /** From now on nothing is sent; the socket stays open until the client or the server's restart closes it. */
  stall(): void {
    this.#closed = true;
    this.#queue = [];
  }

  #pass(bytes: Buffer): void {
    const action = this.#action;
    const start = this.#sent;
    this.#sent += bytes.length;
    switch (action?.kind) {
      case 'cut':
        if (this.#sent > action.afterBytes) {
          this.cut(action.how ?? 'close', bytes.subarray(0, Math.max(0, action.afterBytes - start)));
          return;
        }
        break;
      case 'stall':
        if (this.#sent > action.afterBytes) {
          const rest = bytes.subarray(0, Math.max(0, action.afterBytes - start));
          if (rest.length > 0) this.#response.write(rest);
          this.stall();
          return;
        }
        break;
      case 'corrupt':
        this.#response.write(overwrite(bytes, action.atByte - start, Buffer.from(action.hex, 'hex')));
        return;
    }
    this.#response.write(bytes);
  }

  #startTrickle(bytesPerSecond: number): void {
    const perTick = Math.max(1, Math.round((bytesPerSecond * trickleTickMilliseconds) / 1000));
    this.#trickle ??= setInterval(() => {
      let budget = perTick;
      while (budget > 0 && this.#queue.length > 0) {
        const head = this.#queue[0]!;
        this.#response.write(head.subarray(0, budget));
        if (head.length <= budget) this.#queue.shift();
        else this.#queue[0] = head.subarray(budget);
        budget -= head.length;
      }
      if (this.#queue.length > 0) return;
      clearInterval(this.#trickle);
      this.#trickle = undefined;
      if (this.#endWhenEmpty) this.end();
    }, trickleTickMilliseconds);
  }
}

function endSocket(socket: Socket | null, how: 'reset' | 'close'): void {
  if (how === 'reset') socket?.resetAndDestroy();
  else socket?.destroy();
}

function overwrite(bytes: Buffer, offset: number, patch: Buffer): Buffer {
  if (offset >= bytes.length || offset + patch.length <= 0) return bytes;
  const copy = Buffer.from(bytes);
  for (const [i, value] of patch.entries()) {
    const at = offset + i;
    if (at >= 0 && at < copy.length) copy[at] = value;
  }
  return copy;
}
