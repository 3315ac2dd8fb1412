import { afterEach, beforeEach } from 'vitest';
import { type Logger, silentLogger } from '../../../base/logger.ts';
import type { Service } from '../../../kube/service.ts';
import { ApiClient } from '../api-client.ts';
import { services } from '../api-resource.ts';
import { CredentialProvider } from '../credentials.ts';
import { ListWatch } from '../list-watch.ts';
import { Reflector, type ReflectorOptions } from '../reflector.ts';
import { list, type OpenWatch, watch } from './answers.ts';
import { FastClock } from './fast-clock.ts';
import { RecordingSink } from './recording-sink.ts';
import { type Answer, type ReceivedRequest, ScriptedServer } from './scripted-server.ts';
import { waitUntil } from './wait-until.ts';

/** A reflector of Services against a scripted server, new for each test of the file that calls {@link reflectorRig}. */
export class ReflectorRig {
  server = new ScriptedServer();
  sink = new RecordingSink<Service>();
  clock = new FastClock(1);
  warnings: string[] = [];
  stop: () => Promise<void> = async () => {};

  /** Starts the reflector, without WatchList unless asked for; its time runs `speed` times as fast as ours. */
  start(
    options: Partial<ReflectorOptions> = {},
    speed = 20,
    answerTimeoutMs = 3_600_000,
  ): Reflector<Service> {
    this.clock = new FastClock(speed);
    const { clock, sink, server, warnings } = this;
    const logger: Logger = {
      ...silentLogger,
      warn: (message) => void warnings.push(message),
      with: () => logger,
    };
    const env = {};
    const credentials = new CredentialProvider(
      { kubeconfig: '', master: server.url },
      { clock, logger, env },
    );
    const clientOptions = { version: 'test', qps: -1, burst: 1, answerTimeoutMs };
    const client = new ApiClient(clientOptions, { credentials, clock, env });
    const listWatch = new ListWatch(services, client, clock);
    const reflector = new Reflector(
      { accept: 'application/vnd.kubernetes.protobuf', useWatchList: false, ...options },
      { listWatch, sink, clock, logger, random: () => 0 },
    );
    const controller = new AbortController();
    const running = reflector.run(controller.signal);
    this.stop = async () => {
      controller.abort();
      await running;
      client.close();
    };
    return reflector;
  }

  /** Answers the list with these Services, and what follows with `answers` in turn. */
  listThenWatch(version: number, objects: object[], ...answers: Answer[]): void {
    this.server.answer(list(objects, { resourceVersion: String(version) }), ...answers);
  }

  /** Waits for so many requests in all. */
  requests(count: number): Promise<void> {
    return waitUntil(() => this.server.requests.length >= count, `${count} requests`);
  }

  /** Waits for so many calls of the sink since it was last emptied. */
  calls(count: number): Promise<void> {
    return waitUntil(() => this.sink.calls.length >= count, `${count} calls`);
  }
}

export function reflectorRig(): ReflectorRig {
  const rig = new ReflectorRig();
  beforeEach(async () => {
    Object.assign(rig, new ReflectorRig());
    await rig.server.listen();
  });
  afterEach(async () => {
    await rig.stop();
    await rig.server.close();
  });
  return rig;
}

/** The selectors that each request for Services carries. */
export const selectors = {
  labelSelector: '!service.kubernetes.io/service-proxy-name',
  fieldSelector: 'spec.clusterIP!=None',
};

export function query(request: ReceivedRequest | undefined): Record<string, string> {
  return Object.fromEntries(request!.query);
}

/** An answer that stays open; `opened` gives the latest one. */
export function openWatch(): { readonly answer: Answer; readonly opened: () => OpenWatch } {
  let latest: OpenWatch | undefined;
  return {
    answer: watch((opened) => {
      latest = opened;
    }),
    opened: () => latest!,
  };
}
