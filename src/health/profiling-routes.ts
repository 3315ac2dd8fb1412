import type { HttpAnswer, HttpHandler, HttpRequest } from './http-answer.ts';
import { plainText } from './http-answer.ts';

const MAX_SECONDS = 300;

/**
 * The pages under `/debug`, which exist only with `enableProfiling` (operations 4.3). `/debug/pprof` has Node's own profiles,
 * as Go's have no meaning here; `/debug/flags/v` sets the log verbosity as in kube-proxy.
 *
 * @param setVerbosity returns what is wrong with the text, or undefined when it has been taken over.
 */
export function profilingRoutes(
  setVerbosity: (text: string) => string | undefined,
): readonly (readonly [path: string, handler: HttpHandler])[] {
  return [
    ['/debug/pprof', redirectToIndex],
    ['/debug/pprof/', pprofIndex],
    ['/debug/pprof/profile', cpuProfile],
    ['/debug/pprof/allocs', allocationProfile],
    ['/debug/pprof/heap', heapSnapshot],
    ['/debug/flags', flagsIndex],
    ['/debug/flags/', flagsIndex],
    ['/debug/flags/v', (request) => setFlagV(request, setVerbosity)],
  ];
}

const redirectToIndex: HttpHandler = () => ({
  status: 302,
  headers: { 'Content-Type': 'text/html; charset=utf-8', Location: '/debug/pprof/' },
  body: '<a href="/debug/pprof/">Found</a>.\n\n',
});

const pprofIndex: HttpHandler = () =>
  html(`<html><head><title>/debug/pprof/</title></head><body>
<p>Profiles of this process. Add <code>?seconds=N</code> for the length of the first two.</p>
<ul>
<li><a href="profile">profile</a>: where processor time goes, 30 s (.cpuprofile)</li>
<li><a href="allocs">allocs</a>: where memory is allocated, 30 s (.heapprofile)</li>
<li><a href="heap">heap</a>: the whole heap (.heapsnapshot); the process stands still while it is taken</li>
</ul></body></html>
`);

const flagsIndex: HttpHandler = () =>
  html(`<html><head><title>/debug/flags</title></head><body>
<p>Flags that can be changed while the process runs, with PUT:</p>
<ul><li>v: log verbosity</li></ul></body></html>
`);

const cpuProfile: HttpHandler = (request) =>
  sampled(request, 'profile.cpuprofile', async (seconds) =>
    (await profiling()).takeCpuProfile(seconds, request.signal),
  );

const allocationProfile: HttpHandler = (request) =>
  sampled(request, 'allocs.heapprofile', async (seconds) =>
    (await profiling()).takeAllocationProfile(seconds, request.signal),
  );

const heapSnapshot: HttpHandler = async (request) => {
  request.extend(MAX_SECONDS * 1000);
  return download('heap.heapsnapshot', (await profiling()).takeHeapSnapshot());
};

async function sampled(
  request: HttpRequest,
  fileName: string,
  take: (seconds: number) => Promise<string>,
): Promise<HttpAnswer> {
  const seconds = Number(request.query.get('seconds') ?? 30);
  if (!(seconds > 0 && seconds <= MAX_SECONDS)) {
    return plainText(400, `seconds must be above 0 and at most ${MAX_SECONDS}\n`);
  }
  request.extend(seconds * 1000);
  try {
    return download(fileName, await take(seconds));
  } catch (error) {
    const { ProfileInProgressError } = await profiling();
    if (error instanceof ProfileInProgressError)
      return plainText(500, `Could not profile: ${error.message}\n`);
    throw error;
  }
}

async function setFlagV(
  request: HttpRequest,
  setVerbosity: (text: string) => string | undefined,
): Promise<HttpAnswer> {
  if (request.method !== 'PUT') return plainText(406, 'unsupported http method');
  const text = (await request.readText(1024)).trim();
  const problem = setVerbosity(text);
  if (problem !== undefined) return plainText(400, `${problem}\n`);
  return plainText(200, `successfully set klog.logging.verbosity to ${text}\n`);
}

/** The inspector costs memory: it is loaded when first asked for. */
function profiling(): Promise<typeof import('./profiling.ts')> {
  return import('./profiling.ts');
}

function html(body: string): HttpAnswer {
  return { status: 200, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body };
}

function download(fileName: string, body: HttpAnswer['body']): HttpAnswer {
  return {
    status: 200,
    headers: {
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename="${fileName}"`,
      'X-Content-Type-Options': 'nosniff',
    },
    body,
  };
}
