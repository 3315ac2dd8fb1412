// The stand-in API server inside a namespace, fed by JSON lines: see ApiServerProcess.
import { ApiServer, type ApiServerOptions, type TlsIdentity } from '../../cluster/api-server.ts';
import { ControlServer } from '../../cluster/control-server.ts';
import { serveLines } from '../testbed/serve-lines.ts';

export type ApiServerRequest =
  /** Starts a new server, in place of the one before; answers with its URL. */
  | { readonly op: 'listen'; readonly options: Omit<ApiServerOptions, 'store'> }
  /** A command of the control port, see test/cluster/README.md; answers with its answer. */
  | { readonly op: 'control'; readonly command: string; readonly body: unknown }
  | { readonly op: 'setTls'; readonly tls: TlsIdentity };

let server: ApiServer | undefined;
let control: ControlServer | undefined;
let controlUrl = '';

serveLines<ApiServerRequest>(async (request) => {
  switch (request.op) {
    case 'listen':
      await Promise.all([server?.close(), control?.close()]);
      server = new ApiServer(request.options);
      await server.listen();
      control = new ControlServer(server);
      controlUrl = await control.listen();
      return server.url;
    case 'control': {
      const [method = 'GET', path = '/'] = request.command.split(' ');
      const init = method === 'GET' ? { method } : { method, body: JSON.stringify(request.body) };
      const response = await fetch(`${controlUrl}${path}`, init);
      const body = (await response.json()) as { error?: string };
      if (!response.ok) throw new Error(`${request.command}: ${body.error}`);
      return body;
    }
    case 'setTls':
      server?.setTls(request.tls);
      return null;
  }
});
