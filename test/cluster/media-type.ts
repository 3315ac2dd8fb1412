import { jsonFormat, protobufFormat, type WireFormat } from './wire-format.ts';

/**
 * The format for an `Accept` header: the first media range in it that the server has, as kube-apiserver picks.
 * `undefined` means 406. An absent header means JSON.
 */
export function negotiate(accept: string | undefined, protobufAllowed: boolean): WireFormat | undefined {
  if (accept === undefined || accept.trim() === '') return jsonFormat;
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    // Tables and partial metadata are other representations than the plain object.
    if (parameters.some((parameter) => parameter.startsWith('as='))) continue;
    if (type === 'application/vnd.kubernetes.protobuf' && protobufAllowed) return protobufFormat;
    if (type === 'application/json' || type === 'application/*' || type === '*/*') return jsonFormat;
  }
  return undefined;
}
