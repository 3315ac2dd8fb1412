import type { Mutable } from '../mutable.ts';
import type { Status } from '../status.ts';
import type { WireReader } from './wire-reader.ts';

/** Reads a `metav1.Status` message up to the reader's limit. Throws DecodeError. */
export function decodeStatus(reader: WireReader): Status {
  const causes: string[] = [];
  const status: Mutable<Status> = {
    status: '',
    message: '',
    reason: '',
    code: 0,
    retryAfterSeconds: 0,
    causes,
  };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 2:
        status.status = reader.string();
        break;
      case 3:
        status.message = reader.string();
        break;
      case 4:
        status.reason = reader.string();
        break;
      case 5:
        status.retryAfterSeconds = decodeDetails(reader, causes);
        break;
      case 6:
        status.code = reader.int32();
        break;
      default:
        reader.skip();
    }
  }
  return status;
}

/** Appends the causes and returns `retryAfterSeconds`. */
function decodeDetails(reader: WireReader, causes: string[]): number {
  let retryAfterSeconds = 0;
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 4: {
        const cause = reader.enter();
        for (let field = reader.next(); field !== 0; field = reader.next()) {
          if (field === 1) causes.push(reader.string());
          else reader.skip();
        }
        reader.leave(cause);
        break;
      }
      case 5:
        retryAfterSeconds = reader.int32();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return retryAfterSeconds;
}
