import type { Logger } from '../base/logger.ts';
import type { ModelProblem } from '../model/service-port.ts';

/** How many problems of one object are kept and logged; a broken one may have thousands. */
const MOST_PER_OBJECT = 20;

/**
 * What is wrong with which object: one log line for each problem when it turns up, and a list of the objects that are
 * set aside, wholly or in part, as long as they are.
 */
export class ProblemLog {
  readonly #logger: Logger;
  readonly #problems = new Map<string, Map<string, ModelProblem>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Enters a problem; one that is known already is not logged again. */
  report(problem: ModelProblem): void {
    const key = objectKey(problem.kind, problem.namespace, problem.name);
    const ofObject = this.#problems.get(key) ?? new Map<string, ModelProblem>();
    this.#problems.set(key, ofObject);
    const text = `${problem.field}: ${problem.reason}`;
    if (ofObject.has(text) || ofObject.size >= MOST_PER_OBJECT) return;
    ofObject.set(text, problem);
    this.log(problem);
  }

  /** Logs a problem that is kept elsewhere. */
  log(problem: ModelProblem): void {
    this.#logger.warn(`${problem.kind} cannot be used as it is, other objects are not affected`, {
      object: `${problem.namespace}/${problem.name}`,
      field: problem.field,
      reason: problem.reason,
    });
  }

  /** A new version of the object has come, or it is gone: what was wrong with the old one no longer counts. */
  forget(kind: ModelProblem['kind'], namespace: string, name: string): void {
    this.#problems.delete(objectKey(kind, namespace, name));
  }

  /** The first problem of each object. */
  *objects(): Iterable<ModelProblem> {
    for (const ofObject of this.#problems.values()) {
      const [first] = ofObject.values();
      if (first !== undefined) yield first;
    }
  }
}

function objectKey(kind: string, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}
