import { FairleadError } from '../../base/fairlead-error.ts';

/** What is wrong with a manifest file. Lines and columns count from 1. */
export type ManifestErrorDetail =
  /** The text is neither YAML nor JSON: nothing of the file can be used. */
  | {
      readonly code: 'MANIFEST_SYNTAX';
      readonly line: number;
      readonly column: number;
      readonly problem: string;
    }
  /** A document, or an item of a list, is no object that can be used; `path` is the field at fault, `''` the whole. */
  | {
      readonly code: 'MANIFEST_OBJECT';
      readonly line: number;
      readonly path: string;
      readonly problem: string;
    };

/** A problem with the content of a manifest file; the caller knows which file. */
export class ManifestError extends FairleadError<ManifestErrorDetail> {
  constructor(detail: ManifestErrorDetail, options?: ErrorOptions) {
    const where = detail.code === 'MANIFEST_OBJECT' && detail.path !== '' ? `${detail.path}: ` : '';
    super(detail, `${where}${detail.problem}`, options);
  }
}
