import { DecodeError } from '../decode-error.ts';
import type { Mutable } from '../mutable.ts';
import type { ServiceCIDR } from '../service-cidr.ts';
import { decodeObjectMeta } from './decode-object-meta.ts';
import type { WireReader } from './wire-reader.ts';

/** Reads a networking/v1 ServiceCIDR message (field numbers: k8s.io/api/networking/v1/generated.proto). Throws DecodeError. */
export function decodeServiceCIDR(reader: WireReader): ServiceCIDR {
  const cidrs: string[] = [];
  const serviceCIDR: Mutable<ServiceCIDR> = { name: '', resourceVersion: '', cidrs };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1: {
        const meta = decodeObjectMeta(reader, {});
        serviceCIDR.name = meta.name;
        serviceCIDR.resourceVersion = meta.resourceVersion;
        break;
      }
      case 2: {
        const outer = reader.enter();
        for (let field = reader.next(); field !== 0; field = reader.next()) {
          if (field === 1) cidrs.push(reader.string());
          else reader.skip();
        }
        reader.leave(outer);
        break;
      }
      default:
        reader.skip();
    }
  }
  if (serviceCIDR.name === '') throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'ServiceCIDR' });
  return serviceCIDR;
}
