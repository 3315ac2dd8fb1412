const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/**
 * Runs `close` on the first SIGINT, SIGTERM or SIGHUP and then ends the process with the code a shell gives that
 * signal, or with the code that `close` resolves to. Further signals are ignored meanwhile. Returns a function that takes the handlers away.
 */
export function closeOnSignal(close: () => Promise<number | undefined>): () => void {
  let closing = false;
  const handlers = Object.entries(SIGNALS).map(([signal, number]) => {
    const handler = (): void => {
      if (closing) return;
      closing = true;
      close().then(
        (code) => process.exit(code ?? 128 + number),
        (error: unknown) => {
          console.error(error);
          process.exit(1);
        },
      );
    };
    process.on(signal, handler);
    return { signal, handler };
  });
  return () => {
    for (const { signal, handler } of handlers) process.off(signal, handler);
  };
}
