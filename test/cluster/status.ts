/** A `v1.Status` body with its HTTP code, in the words of kube-apiserver 1.36 (test/recordings/apiserver). */
export interface StatusBody {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Failure';
  readonly message: string;
  readonly reason: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly causes?: readonly { readonly reason: string; readonly message: string }[];
  readonly retryAfterSeconds?: number;
}

export interface StatusExtras {
  readonly details?: StatusDetails;
  readonly continue?: string;
}

export function failure(
  code: number,
  reason: string,
  message: string,
  extras: StatusExtras = {},
): StatusBody {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: extras.continue === undefined ? {} : { continue: extras.continue },
    status: 'Failure',
    message,
    reason,
    ...(extras.details === undefined ? {} : { details: extras.details }),
    code,
  };
}

export const unauthorized = (): StatusBody => failure(401, 'Unauthorized', 'Unauthorized');

export function forbidden(verb: string, resource: string, group: string): StatusBody {
  const message = `${resource}${group === '' ? '' : `.${group}`} is forbidden: User "system:kube-proxy" cannot ${verb} resource "${resource}" in API group "${group}" at the cluster scope`;
  return failure(403, 'Forbidden', message, { details: { ...withGroup(group), kind: resource } });
}

export function forbiddenPath(verb: string, path: string): StatusBody {
  return failure(403, 'Forbidden', `forbidden: User "system:kube-proxy" cannot ${verb} path "${path}"`, {
    details: {},
  });
}

export function notFound(resource: string, group: string, name: string): StatusBody {
  return failure(404, 'NotFound', `${resource}${group === '' ? '' : `.${group}`} "${name}" not found`, {
    details: { name, ...withGroup(group), kind: resource },
  });
}

export function notAcceptable(protobuf: boolean): StatusBody {
  const types = protobuf
    ? [
        'application/json',
        'application/yaml',
        'application/vnd.kubernetes.protobuf',
        'application/json;stream=watch',
        'application/vnd.kubernetes.protobuf;stream=watch',
      ]
    : ['application/json', 'application/yaml', 'application/json;stream=watch'];
  const message = `406: Not Acceptable\n\nAvailable representations: ${types.join(', ')}`;
  return failure(406, 'NotAcceptable', message, { details: {} });
}

export function tooOldVersion(asked: number, oldest: number): StatusBody {
  return failure(410, 'Expired', `too old resource version: ${asked} (${oldest})`);
}

/** The answer to a continue token whose version is gone; `next` continues the list at the present version. */
export function expiredContinueToken(next: string): StatusBody {
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
  return failure(410, 'Expired', message, { continue: next });
}

/** A list asked for a version that the server has not reached. */
export function tooLargeVersion(asked: number, current: number): StatusBody {
  return failure(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

export const badRequest = (message: string): StatusBody => failure(400, 'BadRequest', message);

/** What servers without WatchList (gate off, 1.27 and later) answer to `sendInitialEvents`. */
export function sendInitialEventsForbidden(): StatusBody {
  const why = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
  return invalidListOptions(`sendInitialEvents: Forbidden: ${why}`);
}

export function invalidListOptions(problem: string): StatusBody {
  return failure(422, 'Invalid', `ListOptions.meta.k8s.io "" is invalid: ${problem}`, {
    details: { group: 'meta.k8s.io', kind: 'ListOptions' },
  });
}

function withGroup(group: string): { group?: string } {
  return group === '' ? {} : { group };
}
