const FIRST = 33_000;
const LAST = 60_999;

/**
 * Source ports in ascending order, so that none comes back before all others were used: a repeated one could meet
 * an old conntrack entry or a socket in TIME_WAIT.
 */
export class SourcePorts {
  #next = FIRST;

  take(): number {
    const port = this.#next;
    this.#next = port === LAST ? FIRST : port + 1;
    return port;
  }
}
