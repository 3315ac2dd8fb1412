import { createInterface } from 'node:readline';
import type { LineResponse } from './line-process.ts';

/** The inside of a {@link LineProcess}: answers each request line and ends the process with its input. */
export function serveLines<Request>(perform: (request: Request) => Promise<unknown>): void {
  const respond = (response: LineResponse): void => {
    process.stdout.write(`${JSON.stringify(response)}\n`);
  };
  const lines = createInterface({ input: process.stdin, terminal: false });
  lines.on('line', (line) => {
    const { id, ...request } = JSON.parse(line) as { id: number };
    perform(request as Request).then(
      (result) => respond({ id, result }),
      (error: unknown) => respond({ id, error: error instanceof Error ? error.message : String(error) }),
    );
  });
  lines.on('close', () => process.exit(0));
}
